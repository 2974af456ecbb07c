import type { Pool } from 'pg';
import type { Catalog } from '../../src/domain/catalog.ts';
import type { AttributeCondition } from '../../src/domain/schemas.ts';

/** Writes the rules of a catalog into the plain service's tables: the part of the demo that it supports, as rows. */
export async function loadRules(pool: Pool, catalog: Catalog): Promise<void> {
  const noOf = new Map<string | null, number>(
    [...catalog.metrics, ...catalog.achievements].map((resource) => [resource.id, resource.no]),
  );
  const keyOf = new Map(catalog.attributes.map(({ id, key }) => [id, key]));
  const conditions = (list: AttributeCondition[]): Record<string, string> =>
    Object.fromEntries(list.map(({ attributeId, attributeValue }) => [keyOf.get(attributeId) ?? '', attributeValue]));
  const insert = async (table: string, rows: object[]): Promise<void> => {
    await pool.query(`INSERT INTO ${table} SELECT * FROM jsonb_populate_recordset(NULL::${table}, $1)`, [
      JSON.stringify(rows),
    ]);
  };
  await insert(
    'metrics',
    catalog.metrics.map(({ no, key }) => ({ no, key })),
  );
  await insert(
    'achievements',
    catalog.achievements
      .filter(({ status, trigger }) => status === 'active' && trigger !== 'api')
      .map((one) => ({
        no: one.no,
        trigger: one.trigger,
        metric: noOf.get(one.metricId),
        threshold: one.metricValue,
        streak: one.streakLength,
        prerequisites: one.achievementIds.map((id) => noOf.get(id)),
        user_conditions: conditions(one.userAttributes),
        event_conditions: conditions(one.eventAttributes),
      })),
  );
  await insert(
    'triggers',
    catalog.triggers
      .filter(({ status }) => status === 'active')
      .map((one) => ({
        no: one.no,
        type: one.type,
        metric: noOf.get(one.metricId),
        threshold: one.metricThreshold,
        streak: one.streakLength,
        achievement: noOf.get(one.achievementId),
        points: one.points,
        user_conditions: conditions(one.userAttributes),
        event_conditions: conditions(one.eventAttributes),
      })),
  );
  await insert(
    'boosts',
    catalog.boosts.map(({ start, end, multiplier }) => ({ first_day: start, last_day: end, multiplier })),
  );
  await insert(
    'boards',
    catalog.leaderboards.map((one) => ({
      no: one.no,
      rank_by: one.rankBy,
      metric: noOf.get(one.metricId),
      first_day: one.start,
      interval_days: one.runUnit === 'day' ? one.runInterval : null,
      breakdown: keyOf.get(one.breakdownAttributes[0] ?? '') ?? null,
    })),
  );
}
