import type { PoolClient } from 'pg';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { PointsTrigger } from '../../domain/catalog.ts';
import type { StoredEvent } from '../../postgres/corrections/reversals.ts';
import { docsThen } from '../../postgres/timeline/catalog-then.ts';

/**
 * Numbers of what counted an event in a count of its own: achievements by their conditions of now, since one that is switched on or
 * edited counts all history again; triggers by what they were when the event was applied, since theirs goes on from there.
 */
export async function countedBy(
  client: PoolClient,
  compiled: CompiledCatalog,
  { metricNo, attributes, atMs }: StoredEvent,
): Promise<number[]> {
  const metricId = compiled.metricsByNo.get(metricNo)?.id;
  if (attributes === null || metricId === undefined) return [];
  const { tenantNo, achievements, triggers } = compiled.catalog;
  const matches = ({
    metricId: counted,
    eventAttributes,
  }: Pick<PointsTrigger, 'metricId' | 'eventAttributes'>): boolean =>
    counted === metricId &&
    eventAttributes.length > 0 &&
    eventAttributes.every(({ attributeId, attributeValue }) => {
      const key = compiled.attributesById.get(attributeId)?.key;
      return key !== undefined && attributes[key] === attributeValue;
    });
  const earlier = triggers.filter(({ type, created }) => type === 'metric' && created <= atMs);
  const asked = earlier.map(({ id }) => ({ id, version: null, atMs }));
  const docs = await docsThen(client, tenantNo, asked);
  const then = earlier.map((trigger, index): PointsTrigger => ({ ...trigger, ...docs[index]?.doc }));
  const counting = [...achievements.filter(({ trigger }) => trigger === 'metric'), ...then];
  return counting.filter((each) => each.status === 'active' && matches(each)).map(({ no }) => no);
}
