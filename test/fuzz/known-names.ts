import { STUDY_APP } from '../study-app.ts';

type Admin = (method: string, path: string, body?: unknown) => Promise<unknown>;

const LISTS = ['attributes', 'metrics', 'achievements', 'points', 'leaderboards', 'tenants', 'webhooks'] as const;
const OF_A_SYSTEM = ['levels', 'boosts', 'triggers'] as const;
const USERS = ['u1', 'u2', 'u3'];
const ZONES = ['UTC', 'Asia/Kathmandu', 'America/New_York', 'Pacific/Kiritimati'];
const ADDRESSES = ['ann@example.com', 'bob@example.com'];
const AGO_MS = [0, 3_600_000, 2 * 86_400_000];
const DAYS = ['2026-01-01', '2026-11-18', '2026-11-19'];

/** The list of names for a field or parameter, e.g. `metricId`, or `metrics key` for `/v1/metrics/{key}`. */
const LIST_OF: Record<string, string> = {
  metricId: 'metrics id',
  achievementId: 'achievements id',
  achievementIds: 'achievements id',
  attributeId: 'attributes id',
  breakdownAttributes: 'attributes id',
  pointsSystemId: 'points id',
  'points systemId': 'points id',
  'keys of attributes': 'attributes key',
  userIds: 'users id',
  userId: 'users id',
  tz: 'zones',
  id: 'users id',
  key: 'metrics key',
  'users userId': 'users id',
  eventIds: 'events id',
  signUpDate: 'days',
};

/** Existing names: IDs and keys of the resources, users, days. */
export class KnownNames {
  private readonly lists = new Map<string, string[]>();

  /** Values for a field or parameter; of all kinds if its name says nothing. */
  of(name: string): readonly string[] {
    return this.lists.get(LIST_OF[name] ?? name) ?? this.lists.get('all') ?? USERS;
  }

  /** Restores the initial configuration, and reads its names. */
  async renew(admin: Admin): Promise<void> {
    await admin('PATCH', '/v1/organisation', { multiTenancy: false });
    await admin('PUT', '/v1/configuration', STUDY_APP);
    this.lists.clear();
    this.lists.set('users id', USERS);
    this.lists.set('zones', ZONES);
    this.lists.set('email', ADDRESSES);
    this.lists.set('days', DAYS.slice(0, 1));
    this.lists.set(
      'occurredAt',
      AGO_MS.map((ms) => new Date(Date.now() - ms).toISOString()),
    );
    const events = USERS.map((id, value) => ({ key: STUDY_APP.metrics![0]!.key, user: { id }, value }));
    const sent = (await admin('POST', '/v1/metrics/events?wait=true', events)) as { results?: { eventId?: string }[] };
    this.lists.set(
      'events id',
      (sent.results ?? []).flatMap(({ eventId }) => eventId ?? []),
    );
    for (const list of LISTS) this.learn(list, await admin('GET', `/v1/${list}`));
    const systemId = this.of('points id')[0];
    for (const list of OF_A_SYSTEM) this.learn(list, await admin('GET', `/v1/points/${systemId}/${list}`));
    this.lists.set('all', [...USERS, ...DAYS, ...[...this.lists.values()].flatMap((names) => names.slice(0, 3))]);
  }

  private learn(list: string, answer: unknown): void {
    const items = Array.isArray(answer) ? (answer as { id?: string; key?: string }[]) : [];
    this.lists.set(
      `${list} id`,
      items.flatMap(({ id }) => id ?? []),
    );
    this.lists.set(
      `${list} key`,
      items.flatMap(({ key }) => key ?? []),
    );
  }
}
