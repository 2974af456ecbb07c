import type { Pool } from 'pg';
import type { Configuration } from '../../../src/domain/configuration.ts';
import { CONFIGURATION, USER } from './requests.ts';
import { storeManyValues } from './many-values.ts';

/** The customer IDs of the tenants: the one whose requests cost much, and another one. */
export const LARGE = 'large';
export const VICTIM = 'victim';

export interface LargeTenantSizes {
  /** Users, each in a team of its own. */
  users: number;
  /** Users whose states have 20 KB. */
  largeStates: number;
  /** Events of one user. */
  events: number;
}

type Send = (
  request: { surface: 'application' | 'admin'; method: string; path: string; body?: unknown },
  tenantId?: string,
) => Promise<{ status: number; body: unknown }>;

/** Key of the leaderboard with leagues. */
export const LEAGUE = 'board-2';

/** With 100 leaderboards, half of them of the metric of most events, one of teams, one with leagues. */
export const LARGE_CONFIGURATION: Configuration = {
  ...CONFIGURATION,
  pointsSystems: CONFIGURATION.pointsSystems!.map((system) => ({ ...system, spendableByUsers: true })),
  leaderboards: Array.from({ length: 100 }, (_, at) => ({
    key: at === 0 ? 'board' : `board-${at}`,
    name: `Board ${at}`,
    rankBy: 'metric' as const,
    metricKey: at % 2 === 0 ? 'flips' : 'metric-1',
    start: '2026-01-01',
    status: 'active' as const,
    ...(at === 0 && { teamAttributeKey: 'attribute-0' }),
    ...(at === 2 && {
      runUnit: 'day' as const,
      runInterval: 30,
      leagues: { tiers: [{ name: 'Low' }, { name: 'High' }], cohortUsers: 200, promoted: 20, demoted: 20 },
    }),
  })),
  rewards: Array.from({ length: 100 }, (_, at) => ({
    key: `reward-${at}`,
    name: `Reward ${at}`,
    description: 'x'.repeat(2_000),
    pointsSystemKey: CONFIGURATION.pointsSystems![0]!.key,
    price: 1,
    stock: 1_000_000,
    limitPerUser: 1_000_000,
    status: 'active' as const,
  })),
};

const BATCH = 1_000;
const largeUser = (no: number): string => (no === 0 ? USER : `large-${no}`);

/** The users with large states. */
export const largeUsers = (count: number): string[] => Array.from({ length: count }, (_, no) => largeUser(no));

/** Creates both tenants with their users. The worker must run. Returns the number of the large one. */
export async function createLargeTenant(send: Send, pool: Pool, sizes: LargeTenantSizes): Promise<number> {
  const done = async (request: Parameters<Send>[0], tenantId?: string): Promise<void> => {
    const { status, body } = await send(request, tenantId);
    if (status >= 300 || (body as { issues?: unknown[] } | null)?.issues?.length)
      throw new Error(`${request.method} ${request.path}: ${status} ${JSON.stringify(body).slice(0, 500)}`);
  };
  const admin = (method: string, path: string, body: unknown, tenantId?: string): Promise<void> =>
    done({ surface: 'admin', method, path, body }, tenantId);
  await admin('PATCH', '/v1/organisation', { multiTenancy: true });
  await admin(
    'POST',
    '/v1/tenants',
    [LARGE, VICTIM].map((customerId) => ({ customerId, name: customerId })),
  );
  await admin('PUT', '/v1/configuration', LARGE_CONFIGURATION, LARGE);
  await admin('PUT', '/v1/configuration', { metrics: [{ key: 'flips', name: 'Flips' }] }, VICTIM);
  const users = [
    ...largeUsers(sizes.largeStates),
    ...Array.from({ length: sizes.users - sizes.largeStates }, (_, no) => `user-${no}`),
  ];
  for (let from = 0; from < users.length; from += BATCH) {
    const events = users.slice(from, from + BATCH).map((id, no) => ({
      key: 'flips',
      user: { id, attributes: { 'attribute-0': `team ${from + no}` } },
      value: 1 + ((from + no) % 1_000),
    }));
    await admin('POST', '/v1/metrics/events?wait=true', events, LARGE);
  }
  // Points to spend.
  const much = { user: { id: USER }, value: 100_000 };
  await done({ surface: 'application', method: 'POST', path: '/v1/metrics/flips/event', body: much }, LARGE);
  const attributes = Object.fromEntries(
    Array.from({ length: 19 }, (_, at) => [`attribute-${at + 1}`, 'x'.repeat(1_000)]),
  );
  for (const id of largeUsers(sizes.largeStates))
    await done({ surface: 'application', method: 'PUT', path: `/v1/users/${id}`, body: { attributes } }, LARGE);
  await admin(
    'POST',
    '/v1/webhooks',
    [{ name: 'off', url: 'https://hook.example', events: ['points.changed'], enabled: false }],
    LARGE,
  );
  const { rows } = await pool.query<{ no: number }>('SELECT no FROM tenants WHERE customer_id = $1', [LARGE]);
  await storeManyValues(pool, sizes.events, rows[0]!.no);
  return rows[0]!.no;
}
