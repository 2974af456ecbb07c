/** How messages reach users. The preferences have a list of these for each kind. */
export const MEDIA = ['email', 'push'] as const;
export type Medium = (typeof MEDIA)[number];
