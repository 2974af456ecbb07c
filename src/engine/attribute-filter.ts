import type { Attribute } from '../domain/catalog.ts';
import { AppError } from '../errors.ts';

/**
 * Parses `key:value,key:value` (values may contain colons). 422 for a malformed pair, an unknown key or the same
 * key twice. Undefined or empty: no filter.
 */
export function parseAttributeFilter(
  text: string | undefined,
  known: ReadonlyMap<string, Attribute>,
): { attribute: Attribute; value: string }[] {
  if (text === undefined || text === '') return [];
  const seen = new Set<string>();
  return text.split(',').map((pair) => {
    const colon = pair.indexOf(':');
    const key = pair.slice(0, Math.max(colon, 0));
    const value = pair.slice(colon + 1);
    if (colon < 1 || value === '') {
      throw new AppError(
        'unprocessable',
        `userAttributes must be a list of attribute:value pairs; '${pair}' is not one.`,
      );
    }
    const attribute = known.get(key);
    if (attribute === undefined) throw new AppError('unprocessable', `userAttributes: unknown attribute '${key}'.`);
    if (seen.has(key)) throw new AppError('unprocessable', `userAttributes: '${key}' is given twice.`);
    seen.add(key);
    return { attribute, value };
  });
}
