import { Type, type Static } from 'typebox';

/** Most pairs if the parameter is repeated. */
const MAX_PAIRS = 100;

/**
 * The `userAttributes` query parameter. If it occurs once, it holds comma-separated `key:value` pairs. If it is repeated (or
 * named `userAttributes[]`), each occurrence is one pair, and values may contain commas.
 */
export const AttributeFilter = Type.Unsafe<string | string[]>({
  type: ['string', 'array'],
  items: { type: 'string' },
  maxItems: MAX_PAIRS,
  examples: ['plan:pro', ['city:Washington, DC']],
});
export type AttributeFilter = Static<typeof AttributeFilter>;
