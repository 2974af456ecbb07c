import type { TSchema } from 'typebox';
import { nearest } from '../domain/nearest.ts';

/** Most unknown fields that one text names. */
const MOST_NAMED = 10;
/** Longer names are cut. */
const NAME_LENGTH = 64;
/** A suggestion may differ in this share of its characters: `repetitionUnit` still finds `runUnit`. */
const FIELD_SHARE = 0.6;

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
      if (!Object.hasOwn(properties, name)) {
        const notGiven = Object.keys(properties).filter((known) => !Object.hasOwn(value, known));
        found.push({ path: inside, nearest: nearest(name, notGiven, FIELD_SHARE) });
      } else collect(properties[name]!, (value as Record<string, unknown>)[name], { path: inside, found });
      if (found.length > MOST_NAMED) return;
    }
  }
}
