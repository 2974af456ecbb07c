import type { Command } from 'commander';
import { addTimeline } from './users/timeline.ts';

/** Adds `laurel users …`. */
export function addUsers(laurel: Command): void {
  addTimeline(laurel.command('users').description('Users of a running Laurel'));
}
