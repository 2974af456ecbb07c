import type { AttributeFilter } from '../domain/user.ts';
import type { Attribute } from '../domain/catalog.ts';
import { didYouMean } from '../domain/nearest.ts';
import { AppError } from '../errors.ts';

/**
 * Parses `key:value,key:value`, or a list of pairs, each taken literally. Values may contain colons. A list may repeat a
 * pair. Throws 422 for a malformed pair, an unknown key, or a key that occurs twice. Undefined and empty mean no filter.
 */
export function parseAttributeFilter(
  filter: AttributeFilter | undefined,
  known: ReadonlyMap<string, Attribute>,
): { attribute: Attribute; value: string }[] {
  if (filter === undefined || filter === '') return [];
  const pairs = typeof filter === 'string' ? filter.split(',') : [...new Set(filter)].filter((pair) => pair !== '');
  const seen = new Set<string>();
  return pairs.map((pair) => {
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
    if (attribute === undefined)
      throw new AppError('unprocessable', `userAttributes: unknown attribute '${key}'.`, {
        hint: didYouMean(key, known.keys()),
      });
    if (seen.has(key)) throw new AppError('unprocessable', `userAttributes: '${key}' is given twice.`);
    seen.add(key);
    return { attribute, value };
  });
}
