import { afterAll, beforeAll } from 'vitest';
import { leftBehind } from './left-behind.ts';
import { openResources, openedSince } from './open-resources.ts';
import { openStacks } from './open-stacks.ts';

// Fails a test file that leaves something behind: sockets, listening servers, timers that keep the process up, child
// processes, a stack that is not closed. Hooks of a setup file come first at the start and last at the end.

// What an earlier file of this worker left after a failure is not this file's.
openStacks.clear();

/** What the test runner has open itself, and what earlier files of this worker left. */
let before: Map<string, number>;

beforeAll(() => {
  before = openResources();
});

afterAll(async () => {
  const left = await leftBehind(() => openedSince(before));
  if (openStacks.size > 0) left.push(`${openStacks.size} × a stack that is not closed`);
  openStacks.clear();
  if (left.length > 0) throw new Error(`The test file left open: ${left.join(', ')}.`);
});
