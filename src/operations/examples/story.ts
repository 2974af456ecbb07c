/** The examples of the OpenAPI documents, in the order in which they happen. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PACKAGE_ROOT } from '../../package-root.ts';

const chapter = (name: string): { file: string; exchanges: readonly Exchange[] } => {
  const file = join(PACKAGE_ROOT, 'src', 'operations', 'examples', `${name}.json`);
  return { file, exchanges: JSON.parse(readFileSync(file, 'utf8')) as Exchange[] };
};

/** The chapters of the story in their order, each with its file: JSON, since it is recorded. */
export const CHAPTERS = [
  // The organisation itself, with its tenants and admin keys.
  'organisation',
  // What is configured.
  'catalog',
  // Users and what they do.
  'users',
  // What came of it, as an application reads it.
  'reads',
  // Guards, and what is put right.
  'corrections',
  // What an operator does.
  'operations',
  // Everything taken away again.
  'deletions',
].map(chapter);

/** Every exchange, in the order in which they work. */
export const STORY: readonly Exchange[] = CHAPTERS.flatMap(({ exchanges }) => exchanges);

const FIRST = new Map<string, Exchange>();
for (const exchange of STORY) if (!FIRST.has(exchange.operation)) FIRST.set(exchange.operation, exchange);

/** The example of an operation: its first exchange. Undefined only for operations that are not of Laurel's table. */
export const exchangeOf = (operation: string): Exchange | undefined => FIRST.get(operation);

/**
 * A request and what it was answered, as the OpenAPI documents show it. The exchanges are one story, in their order: they were
 * recorded from a Laurel, and the test sends them to another one (`test/operations/examples.test.ts`).
 */
export interface Exchange {
  /** The operation's ID. */
  operation: string;
  params?: Readonly<Record<string, string>>;
  query?: Readonly<Record<string, string | number | boolean>>;
  /** The header `Idempotency-Key`. */
  idempotencyKey?: string;
  body?: unknown;
  status: number;
  /** Lists and maps are shortened. Left out: there is no body, or a stream. */
  answer?: unknown;
}
