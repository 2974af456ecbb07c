/** The stacks of this test file that are not closed: what no test file leaves behind, see `leaks.ts`, which loads nothing. */
export const openStacks = new Set<object>();
