/** This test file's open stacks, for `leaks.ts`. A separate file because `leaks.ts` must load nothing else. */
export const openStacks = new Set<object>();
