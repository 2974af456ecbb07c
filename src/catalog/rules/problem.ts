import type { Catalog } from '../../domain/catalog.ts';
import type { AttributeCondition } from '../../domain/schemas.ts';
import { decimalNumber, toDecimal } from '../../domain/decimal.ts';
import { HTTP_URL_PATTERN } from '../../domain/settings.ts';
import { attributesIn, idsIn } from './lookups.ts';

/** A problem of a resource: the stored field (`userAttributes[0].attributeId`) and a text that follows it. */
export interface Problem {
  field: string;
  text: string;
}

export const problem = (field: string, text: string): Problem => ({ field, text });

/** Largest value of points and thresholds. */
export const MOST = 1e12;

export interface Bounds {
  min: number;
  max: number;
}

export function* whole(field: string, value: number, { min, max }: Bounds): Generator<Problem> {
  if (!Number.isInteger(value)) yield problem(field, 'must be a whole number');
  else if (value < min) yield problem(field, `must be at least ${min}`);
  else if (value > max) yield problem(field, `must be at most ${max}`);
}

/** A positive decimal in the range of event values: at most 1e12, with at most 6 places. */
export function* amount(field: string, value: number): Generator<Problem> {
  if (!(value > 0)) yield problem(field, 'must be greater than 0');
  else if (value > MOST) yield problem(field, `must be at most ${MOST}`);
  else if (decimalNumber(toDecimal(value)) !== value) yield problem(field, 'must have at most 6 decimals');
}

/** A field that is required with certain values of another field, and not allowed otherwise. */
export function* belongs(
  field: string,
  value: unknown,
  { to, when }: { to: string; when: boolean },
): Generator<Problem> {
  if (when && (value === null || value === undefined)) yield problem(field, `required for ${to}`);
  if (!when && value !== null && value !== undefined) yield problem(field, `only for ${to}`);
}

export function* refers(
  field: string,
  id: string | null,
  { among, noun }: { among: { id: string }[]; noun: string },
): Generator<Problem> {
  if (id !== null && !idsIn(among).has(id)) yield problem(field, `unknown ${noun} '${id}'`);
}

export function* named(name: string): Generator<Problem> {
  if (name.trim() === '') yield problem('name', 'must not be empty');
}

const HTTP_URL = new RegExp(HTTP_URL_PATTERN);

/** The URL of a picture, which pages load. Other schemes, such as `javascript:` and `data:`, are refused for security. */
export function* badge(url: string | null): Generator<Problem> {
  if (url === null || (HTTP_URL.test(url) && URL.canParse(url))) return;
  yield problem('badgeUrl', 'must be a URL that begins with https:// or http://');
}

/** A key must be unique within its kind. `holders`: number of resources with the key, including this one. */
export function* ownKey(
  { key }: { key: string | null },
  { holders, noun }: { holders: (key: string) => number | undefined; noun: string },
): Generator<Problem> {
  if (key === null) return;
  if (!/^[a-zA-Z\d\-_]{1,255}$/.test(key)) {
    yield problem('key', 'must be 1 to 255 letters, digits, hyphens or underscores');
  }
  if ((holders(key) ?? 0) > 1) yield problem('key', `another ${noun} has the key '${key}'`);
}

/** Conditions must name attributes of one type, each at most once. */
export function* conditions(
  field: 'userAttributes' | 'eventAttributes',
  given: AttributeCondition[],
  catalog: Catalog,
): Generator<Problem> {
  const type = field === 'userAttributes' ? 'user' : 'event';
  const known = attributesIn(catalog.attributes);
  const earlier = new Set<string>();
  for (const [index, { attributeId }] of given.entries()) {
    const at = `${field}[${index}].attributeId`;
    const attribute = known.get(attributeId);
    if (attribute === undefined) yield problem(at, `unknown ${type} attribute '${attributeId}'`);
    else if (attribute.type !== type) {
      yield problem(at, `'${attribute.key}' is ${attribute.type === 'user' ? 'a user' : 'an event'} attribute`);
    } else if (earlier.has(attributeId)) {
      yield problem(at, `'${attribute.key}' is named twice`);
    }
    earlier.add(attributeId);
  }
}
