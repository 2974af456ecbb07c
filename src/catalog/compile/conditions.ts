import type { AttributeCondition } from '../../domain/schemas.ts';
import type { CatalogIndex } from '../catalog-index.ts';
import type { PlanConditions } from '../plan.ts';

/** Drops fields that are undefined, so that they are nil in Lua. */
export const present = <T extends object>(fields: { [K in keyof T]: T[K] | undefined }): T =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;

/** Conditions on the user's attributes; undefined without any. */
export function userConditions(
  catalogIndex: CatalogIndex,
  conditions: AttributeCondition[],
): PlanConditions | undefined {
  if (conditions.length === 0) return undefined;
  return conditions.map(({ attributeId, attributeValue }) => [
    catalogIndex.attributesById.get(attributeId)?.no ?? 0,
    attributeValue,
  ]);
}
