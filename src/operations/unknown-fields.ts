import type { TSchema } from 'typebox';

/** Most unknown fields that one text names. */
const MOST_NAMED = 10;
/** Longer names are cut: nothing known is nearly as long. */
const NAME_LENGTH = 64;
/** A suggestion may differ in this share of its characters: `repetitionUnit` still finds `runUnit`. */
const SHARE = 0.6;

interface Shape {
  type?: string;
  properties?: Record<string, Shape>;
  items?: Shape;
  maxItems?: number;
  anyOf?: Shape[];
}

interface UnknownField {
  /** E.g. `leaderboards[0].repetitionUnit`. */
  path: string;
  nearest: string | null;
}

/**
 * Names the fields of a value that its schema does not know, each with the known one that was probably meant; null where
 * all are known. What does not fit the schema in another way is skipped. O(fields of the value).
 */
export function unknownFieldsText(schema: TSchema, value: unknown): string | null {
  const found: UnknownField[] = [];
  collect(schema as Shape, value, { path: '', found });
  if (found.length === 0) return null;
  const named = found.slice(0, MOST_NAMED).map(({ path, nearest }) => {
    const hint = nearest === null ? '' : ` (did you mean ${nearest}?)`;
    return `${path} is not a known field${hint}`;
  });
  return named.join(', ') + (found.length > MOST_NAMED ? ', and there are more' : '');
}

function collect(schema: Shape, value: unknown, at: { path: string; found: UnknownField[] }): void {
  if (value === null || typeof value !== 'object' || at.found.length > MOST_NAMED) return;
  const { path, found } = at;
  if (schema.anyOf !== undefined) {
    const type = Array.isArray(value) ? 'array' : 'object';
    const fitting = schema.anyOf.find((one) => one.type === type);
    if (fitting !== undefined) collect(fitting, value, at);
  } else if (Array.isArray(value)) {
    const { items, maxItems = Infinity } = schema;
    // What is too long is refused for that.
    if (items === undefined || value.length > maxItems) return;
    for (const [index, item] of value.entries()) collect(items, item, { path: `${path}[${index}]`, found });
  } else if (schema.properties !== undefined) {
    const { properties } = schema;
    for (const name in value) {
      const inside = path === '' ? name.slice(0, NAME_LENGTH) : `${path}.${name.slice(0, NAME_LENGTH)}`;
      if (!Object.hasOwn(properties, name)) found.push({ path: inside, nearest: nearestOf(name, properties, value) });
      else collect(properties[name]!, (value as Record<string, unknown>)[name], { path: inside, found });
      if (found.length > MOST_NAMED) return;
    }
  }
}

/** The known field, not given yet, that is fewest edits away; null: none is near. */
function nearestOf(name: string, known: Record<string, unknown>, given: object): string | null {
  if (name.length > NAME_LENGTH) return null;
  let nearest: string | null = null;
  let fewest = Infinity;
  for (const candidate in known) {
    if (Object.hasOwn(given, candidate)) continue;
    const edits = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (edits >= fewest || edits > SHARE * Math.max(name.length, candidate.length)) continue;
    [nearest, fewest] = [candidate, edits];
  }
  return nearest;
}

/** Characters to insert, remove or replace until one text is the other (Levenshtein). O(lengths multiplied). */
export function editDistance(from: string, to: string): number {
  let previous = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const replaced = previous[column - 1]! + (from[row - 1] === to[column - 1] ? 0 : 1);
      current.push(Math.min(previous[column]! + 1, current[column - 1]! + 1, replaced));
    }
    previous = current;
  }
  return previous[to.length]!;
}
