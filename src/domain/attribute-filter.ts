import { Type, type Static } from 'typebox';

/** Most pairs of a filter whose parameter is repeated. */
const MAX_PAIRS = 100;

/**
 * The `userAttributes` of a query: once, it is `key:value` pairs separated by commas; repeated (or named
 * `userAttributes[]`), each is one pair, whose value may hold commas.
 */
export const AttributeFilter = Type.Unsafe<string | string[]>({
  type: ['string', 'array'],
  items: { type: 'string' },
  maxItems: MAX_PAIRS,
  examples: ['plan:pro', ['city:Washington, DC']],
});
export type AttributeFilter = Static<typeof AttributeFilter>;
