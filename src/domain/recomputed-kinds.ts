/** What can be recomputed. Separate from its schema because the command line uses it and starts without TypeBox. */
export const RECOMPUTED_KINDS = ['achievements', 'points', 'boards'] as const;
