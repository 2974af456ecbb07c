import { type Exchange, requestPath } from '../../src/operations/descriptions/examples.ts';
import type { Operation } from '../../src/operations/operation.ts';
import type { SeenResponse } from '../http/client.ts';
import type { TestLaurel } from '../laurel.ts';

/** Differences between a test's Laurel and the documented examples, which are of another year, and shorter. */

/** Years of the story and of the documentation, whose days fall on the same weekdays. */
const YEARS = new Map([
  [2036, 2025],
  [2037, 2026],
  [2038, 2027],
]);
const SHOWN_YEARS = new Map([...YEARS].map(([year, shown]) => [shown, year]));

/** Truncates longer lists, and maps by day or week; no answer has as many fields. */
const MOST_ITEMS = 3;
const MOST_FIELDS = 30;

/** A value with every text and number in it replaced, including keys that are days. */
function replaced(value: unknown, text: (text: string) => string, years: ReadonlyMap<number, number>): unknown {
  if (typeof value === 'string') return text(value);
  if (typeof value === 'number') return years.get(value) ?? value;
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map((item) => replaced(item, text, years));
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [text(key), replaced(field, text, years)]));
}

const inYears =
  (years: ReadonlyMap<number, number>) =>
  (text: string): string =>
    text.replaceAll(/\b(20[23]\d)-(?=\d\d)/g, (whole, year) => {
      const other = years.get(Number(year));
      return other === undefined ? whole : `${other}-`;
    });

/** The documented form of a story's answer. `names`: texts of the answer, and their names in the example. */
export function shown(answer: unknown, names: ReadonlyMap<string, string>): unknown {
  return shortened(replaced(answer, (text) => names.get(text) ?? inYears(YEARS)(text), YEARS));
}

/** The request of an example. `names`: texts of the examples, and their values in this Laurel. */
function sent(example: unknown, names: ReadonlyMap<string, string>): unknown {
  const one = (text: string): string => names.get(text) ?? inYears(SHOWN_YEARS)(text);
  // Several IDs may be in one parameter.
  return replaced(
    example,
    (text) => (text.includes(' ') ? one(text) : text.split(',').map(one).join(',')),
    SHOWN_YEARS,
  );
}

function shortened(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.slice(0, MOST_ITEMS).map(shortened);
  const fields = Object.entries(value);
  const kept = fields.length > MOST_FIELDS ? fields.slice(0, MOST_ITEMS) : fields;
  return Object.fromEntries(kept.map(([key, field]) => [key, shortened(field)]));
}

/** The characters of IDs, keys and the like. A random one may have no digit. */
const UNSPACED = /^[\w.:+/=-]{8,}$/;
/** An ID, a key and the like: long, and not written by a person. The examples' all have a digit. */
const isName = (text: string): boolean => UNSPACED.test(text) && /\d/.test(text) && !/^20\d\d-/.test(text);

/** Learns the values of an example's IDs in this Laurel from both answers. */
function learn(example: unknown, answer: unknown, names: Map<string, string>): void {
  if (typeof example === 'string' && typeof answer === 'string') {
    // The first answer with it is that of its creation: later lists may have another order.
    if (example !== answer && isName(example) && UNSPACED.test(answer) && !names.has(example))
      names.set(example, answer);
  } else if (example !== null && answer !== null && typeof example === 'object' && typeof answer === 'object') {
    for (const [key, field] of Object.entries(example)) learn(field, (answer as Record<string, unknown>)[key], names);
  }
}

/** Names in the examples of texts of a Laurel. Something with two names keeps the first. */
export const namesShown = (names: ReadonlyMap<string, string>): ReadonlyMap<string, string> =>
  new Map([...names].toReversed().map(([example, ours]) => [ours, example]));

/** The path and query of an exchange's request to a Laurel. */
export const pathOf = ({ path }: Operation, { params, query }: Exchange, names: ReadonlyMap<string, string>): string =>
  requestPath(path, sent({ params, query }, names) as Pick<Exchange, 'params' | 'query'>);

/** Sends the request of an exchange to a Laurel, and learns the names of what the answer has. */
export async function sendExchange(
  laurel: TestLaurel,
  { operation, exchange, names }: { operation: Operation; exchange: Exchange; names: Map<string, string> },
): Promise<SeenResponse> {
  const client = operation.surface === 'admin' ? laurel.admin : laurel.app;
  const answer = await client.send(operation.method.toUpperCase(), pathOf(operation, exchange, names), {
    ...(exchange.body !== undefined && { body: sent(exchange.body, names) }),
    ...(exchange.idempotencyKey !== undefined && { headers: { 'Idempotency-Key': exchange.idempotencyKey } }),
    ...(operation.scope === 'public' && { key: null }),
  });
  learn(exchange.answer, answer.body, names);
  return answer;
}
