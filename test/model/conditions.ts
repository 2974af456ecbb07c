import type { Catalog } from '../../src/domain/catalog.ts';
import type { AttributeCondition } from '../../src/domain/schemas.ts';

/** Conditions as the required values by attribute key. */
export const named = (catalog: Catalog, conditions: readonly AttributeCondition[]): Record<string, string> =>
  Object.fromEntries(
    conditions.map(({ attributeId, attributeValue }) => [
      catalog.attributes.find(({ id }) => id === attributeId)!.key,
      attributeValue,
    ]),
  );
