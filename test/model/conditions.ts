import type { AttributeCondition, Catalog } from '../../src/domain/catalog.ts';

/** Conditions as the values wanted, by the attribute's key. */
export const named = (catalog: Catalog, conditions: readonly AttributeCondition[]): Record<string, string> =>
  Object.fromEntries(
    conditions.map(({ attributeId, attributeValue }) => [
      catalog.attributes.find(({ id }) => id === attributeId)!.key,
      attributeValue,
    ]),
  );
