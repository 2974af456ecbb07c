import type { Command } from 'commander';
import { addReverse } from './events/reverse.ts';

/** Adds `laurel events …`. */
export function addEvents(laurel: Command): void {
  addReverse(laurel.command('events').description('Events of a running Laurel'));
}
