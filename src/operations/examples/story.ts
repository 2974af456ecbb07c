import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PACKAGE_ROOT } from '../../package-root.ts';

const chapter = (name: string): { file: string; exchanges: readonly Exchange[] } => {
  const file = join(PACKAGE_ROOT, 'src', 'operations', 'examples', `${name}.json`);
  return { file, exchanges: JSON.parse(readFileSync(file, 'utf8')) as Exchange[] };
};

/** The chapters of the story in order, each with its file. JSON, because they are recorded. */
export const CHAPTERS = ['organisation', 'catalog', 'users', 'reads', 'corrections', 'operations', 'deletions'].map(
  chapter,
);

export const STORY: readonly Exchange[] = CHAPTERS.flatMap(({ exchanges }) => exchanges);

const FIRST = new Map<string, Exchange>();
for (const exchange of STORY) if (!FIRST.has(exchange.operation)) FIRST.set(exchange.operation, exchange);

/** The example of an operation: its first exchange. `undefined` only for operations outside Laurel's tables. */
export const exchangeOf = (operation: string): Exchange | undefined => FIRST.get(operation);

/**
 * A request and its answer, as the OpenAPI documents show them. The exchanges form a story in order. They were recorded
 * from one Laurel, and a test sends them to another (`test/operations/examples.test.ts`).
 */
export interface Exchange {
  operation: string;
  params?: Readonly<Record<string, string>>;
  query?: Readonly<Record<string, string | number | boolean>>;
  idempotencyKey?: string;
  body?: unknown;
  status: number;
  /** Lists and maps are shortened. Omitted if there is no body, or a stream. */
  answer?: unknown;
}
