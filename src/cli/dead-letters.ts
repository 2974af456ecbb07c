import type { Command } from 'commander';
import { addDrop } from './dead-letters/drop.ts';
import { addList } from './dead-letters/list.ts';
import { addRetry } from './dead-letters/retry.ts';
import { addShow } from './dead-letters/show.ts';

/** Adds `laurel dead-letters …`: entries of the outbox that could not be stored and were set aside. */
export function addDeadLetters(laurel: Command): void {
  const letters = laurel
    .command('dead-letters')
    .description('Entries of the outbox that could not be stored, or not all of them, and were set aside');
  for (const add of [addList, addShow, addRetry, addDrop]) add(letters);
}
