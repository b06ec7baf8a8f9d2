/**
 * Preloaded into a process that root starts (`node --import`): makes it another user's once Node and
 * what it needs to begin are loaded.
 *
 * LARDER_TEST_UID=<n>   user and group to become
 */
const uid = Number(process.env["LARDER_TEST_UID"]);
process.setgroups?.([]);
process.setgid?.(uid);
process.setuid?.(uid);
