import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { AttributeCondition } from '../../domain/schemas.ts';

export const attributePairs = (
  compiled: CompiledCatalog,
  conditions: AttributeCondition[],
): { key: string; value: string }[] =>
  conditions.map(({ attributeId, attributeValue }) => ({
    key: compiled.attributesById.get(attributeId)?.key ?? '',
    value: attributeValue,
  }));

/** `eventAttributes`, and the deprecated `eventAttribute` if exactly one is set. */
export function eventAttributeFields(
  compiled: CompiledCatalog,
  conditions: AttributeCondition[],
): { eventAttribute?: { key: string; value: string }; eventAttributes: { key: string; value: string }[] } {
  const pairs = attributePairs(compiled, conditions);
  return pairs.length === 1 ? { eventAttribute: pairs[0]!, eventAttributes: pairs } : { eventAttributes: pairs };
}
