import type { Catalog } from '../../domain/catalog.ts';
import type { AttributeCondition } from '../../domain/schemas.ts';
import { decimalNumber, toDecimal } from '../../domain/decimal.ts';
import { applies, type Field, type Fields, type When } from '../../domain/fields/field.ts';
import { entriesOf, storedName } from '../../domain/fields/wire.ts';
import { HTTP_URL_PATTERN } from '../../domain/settings.ts';
import { byId } from '../lookups.ts';

/** A problem of a resource: the stored field (`userAttributes[0].attributeId`) and a text that follows it. */
export interface Problem {
  field: string;
  text: string;
}

export const problem = (field: string, text: string): Problem => ({ field, text });

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

export function* refers(
  field: string,
  id: string | null,
  { among, noun }: { among: { id: string }[]; noun: string },
): Generator<Problem> {
  if (id !== null && !byId(among).has(id)) yield problem(field, `unknown ${noun} '${id}'`);
}

const HTTP_URL = new RegExp(HTTP_URL_PATTERN);

/** The URL of a picture, which pages load. Other schemes, such as `javascript:` and `data:`, are refused for security. */
export function* badge(field: string, url: string | null): Generator<Problem> {
  if (url === null || (HTTP_URL.test(url) && URL.canParse(url))) return;
  yield problem(field, 'must be a URL that begins with https:// or http://');
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
function* conditions(
  field: 'userAttributes' | 'eventAttributes',
  given: AttributeCondition[],
  catalog: Catalog,
): Generator<Problem> {
  const type = field === 'userAttributes' ? 'user' : 'event';
  const known = byId(catalog.attributes);
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

export function* declaredProblems(fields: Fields, resource: object, catalog: Catalog): Generator<Problem> {
  for (const [name, one] of entriesOf(fields)) {
    const value = (resource as Record<string, unknown>)[storedName(name, one)] ?? null;
    if (name === 'name' && (value as string).trim() === '') yield problem('name', 'must not be empty');
    if (one.stored === 'badgeUrl') yield* badge('badgeUrl', value as string | null);
    yield* belongs(name, one, { resource, isSet: value !== null && !(Array.isArray(value) && value.length === 0) });
    if (one.conditionsOn !== undefined)
      yield* conditions(`${one.conditionsOn}Attributes`, value as AttributeCondition[], catalog);
    const noun = one.refersTo;
    if (noun !== undefined && noun !== 'user attribute' && noun !== 'event attribute' && !Array.isArray(value))
      yield* refers(name, value as string | null, { among: catalog[REFERRED[noun]], noun });
  }
}

const REFERRED = {
  metric: 'metrics',
  'points system': 'pointsSystems',
  achievement: 'achievements',
  leaderboard: 'leaderboards',
} as const;

function* belongs(
  name: string,
  { when, required }: Field,
  { resource, isSet }: { resource: object; isSet: boolean },
): Generator<Problem> {
  const condition = required === true ? when : required;
  if (!isSet && condition !== undefined && applies(when, resource) && applies(condition, resource))
    yield problem(name, `required for ${textOf(condition)}`);
  // Messages of fields that apply to several kinds are rules of their own.
  if (isSet && when !== undefined && when.is.length < 2 && !applies(when, resource))
    yield problem(name, `only for ${textOf(when)}`);
}

const textOf = ({ field, is, called }: When): string => called ?? `${field} '${is[0]}'`;
