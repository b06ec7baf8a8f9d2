/** The names of the command, for completion: both take the same command line. */
export const programs = ["larder", "imagecachectl"] as const;
