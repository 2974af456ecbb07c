import { CATALOG } from './catalog.ts';
import { CORRECTIONS } from './corrections.ts';
import { DELETIONS } from './deletions.ts';
import type { Exchange } from './exchange.ts';
import { OPERATIONS } from './operations.ts';
import { ORGANISATION } from './organisation.ts';
import { READS } from './reads.ts';
import { USERS } from './users.ts';

/** The chapters of the story, by the names of their files. */
export const CHAPTERS = {
  organisation: ORGANISATION,
  catalog: CATALOG,
  users: USERS,
  reads: READS,
  corrections: CORRECTIONS,
  operations: OPERATIONS,
  deletions: DELETIONS,
};

/** Every exchange, in the order in which they work. */
export const STORY: readonly Exchange[] = Object.values(CHAPTERS).flat();

const FIRST = new Map<string, Exchange>();
for (const exchange of STORY) if (!FIRST.has(exchange.operation)) FIRST.set(exchange.operation, exchange);

/** The example of an operation: its first exchange. Undefined only for operations that are not of Laurel's table. */
export const exchangeOf = (operation: string): Exchange | undefined => FIRST.get(operation);
