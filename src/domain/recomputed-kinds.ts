/** What can be computed again. Apart from its schema: the command line names it, and starts without TypeBox. */
export const RECOMPUTED_KINDS = ['achievements', 'points', 'boards'] as const;
