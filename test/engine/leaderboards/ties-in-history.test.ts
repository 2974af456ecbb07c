import { describe, expect, test } from 'vitest';
import type { Configuration } from '../../../src/domain/configuration.ts';
import { LiveClient, type SeenMessage } from '../../live/live-client.ts';
import { Listening } from '../notifications/listening.ts';
import { filled, make, plan } from '../recomputations/recompute-laurel.ts';
import { differencesIn } from '../../differences.ts';
import { opened } from '../../stack/opened.ts';

const FIRST = { rankBy: 'metric', ties: 'first', start: '2031-03-01', status: 'active' } as const;
const LEADERBOARDS = [
  { ...FIRST, key: 'sum', name: 'Sum', metricKey: 'm' },
  // No event sends a secondary score, so that the time decides here, too.
  { ...FIRST, key: 'most', name: 'Most', metricKey: 'm', aggregate: 'max', secondaryAttributeKey: 'moves' },
  { ...FIRST, key: 'imported', name: 'Imported', metricKey: 'other' },
  { ...FIRST, key: 'zeros', name: 'Zeros', metricKey: 'zeros' },
] as const;
const CONFIGURATION: Configuration = {
  attributes: [{ key: 'moves', name: 'Moves', type: 'event' }],
  metrics: [
    { key: 'm', name: 'M' },
    { key: 'other', name: 'Other' },
    { key: 'zeros', name: 'Zeros' },
  ],
  leaderboards: [...LEADERBOARDS],
};

describe.each([
  ['a tenant on one shard', 1],
  ['a tenant spread over four shards', 4],
])('%s', (_, spread) => {
  const listening = opened(() => Listening.start('2031-03-05T10:00:00', CONFIGURATION, { spread }));

  async function event(id: string, value: number, more: object = {}, metric = 'm'): Promise<string> {
    const sent = { user: { id }, value, ...more };
    const { status, body } = await listening.laurel.app.post(`/v1/metrics/${metric}/event`, sent);
    expect({ status, body }).toMatchObject({ status: 201 });
    return body.eventId;
  }

  /** `rank user` of each place. */
  async function places(key: string): Promise<string[]> {
    const { status, body } = await listening.laurel.app.get(`/v1/leaderboards/${key}`);
    expect(status).toBe(200);
    return body.rankings.map(({ rank, userId }: { rank: number; userId: string }) => `${rank} ${userId}`);
  }

  const differences = () => differencesIn(listening.laurel);

  test('a recomputation ranks a corrected score by the time of its event; reverting restores the order', async () => {
    const { laurel } = listening;
    for (const [second, user, value] of [
      [1, 'a', 5],
      [2, 'b', 3],
      [3, 'c', 5],
    ] as const) {
      await listening.to(`2031-03-05T10:00:0${second}`);
      await event(user, value);
    }
    const before = ['1 a', '2 c', '3 b'];
    for (const key of ['sum', 'most']) expect(await places(key)).toEqual(before);
    const events = async (): Promise<number | null> => (await laurel.pool.query('SELECT FROM events')).rowCount;
    await expect.poll(events).toBe(3);
    await laurel.pool.query(`UPDATE events SET value = 5 WHERE user_id = 'b'`);
    const { id } = await plan(laurel, { what: ['boards'] });
    await make(laurel, id, 'apply');
    for (const key of ['sum', 'most']) expect(await places(key)).toEqual(['1 a', '2 b', '3 c']);
    expect(await differences()).toEqual([]);
    await make(laurel, id, 'revert');
    for (const key of ['sum', 'most']) expect(await places(key)).toEqual(before);
    expect(await differences()).toEqual([]);
  });

  test('a sum was reached when its late event happened, although an event with the value 0 arrived before', async () => {
    await event('a', 0, {}, 'zeros');
    await event('b', 5, { occurredAt: '2031-03-05T09:00:00Z' }, 'zeros');
    await event('a', 5, { occurredAt: '2031-03-05T08:00:00Z' }, 'zeros');
    expect(await places('zeros')).toEqual(['1 a', '2 b']);
    // Of zeros alone, the first one counts, which arrives last.
    for (const [user, hour] of [
      ['c', '07'],
      ['d', '06'],
      ['c', '05'],
    ])
      await event(user!, 0, { occurredAt: `2031-03-05T${hour}:00:00Z` }, 'zeros');
    expect(await places('zeros')).toEqual(['1 a', '2 b', '3 c', '4 d']);
  });

  test('webhooks and live streams report ranks that nobody shares', async () => {
    const { app, adminUrl } = listening.laurel;
    const webhook = await listening.listen('leaderboard.rank_changed');
    const { ticket } = (await app.post('/v1/live/tickets', {})).body;
    const stream = await LiveClient.open(adminUrl, { ticket });
    await stream.next('ready');
    const ranksOf = (messages: readonly SeenMessage[]): unknown[] =>
      messages
        .filter(({ user, leaderboard }) => user.id === 'd' && leaderboard.key === 'most')
        .map(({ leaderboard: { previousRank, rank } }) => [previousRank, rank]);
    const both = async (): Promise<unknown[]> => [
      ranksOf((await listening.messages(webhook)).map(({ payload }) => payload)),
      ranksOf(stream.of('leaderboard.rank_changed')),
    ];
    await listening.to('2031-03-05T10:20:00');
    await event('d', 5);
    const first = [null, 3];
    await expect.poll(both).toEqual([[first], [first]]);
    await listening.to('2031-03-05T10:40:00');
    await event('d', 6);
    const second = [3, 1];
    await expect.poll(both).toEqual([
      [first, second],
      [first, second],
    ]);
    stream.close();
  });

  test('an imported sum was reached when the last day began that changed it, also on a leaderboard filled from history', async () => {
    const { admin } = listening.laurel;
    await event('early', 9, { occurredAt: '2031-03-02T23:00:00Z' }, 'other');
    await event('late', 9, { occurredAt: '2031-03-03T08:00:00Z' }, 'other');
    const ada = { id: 'ada', metrics: { other: { total: 9, days: { '2031-03-02': 4, '2031-03-03': 5 } } } };
    const { body } = await admin.post('/v1/imports?import=crm', [ada]);
    expect(body).toMatchObject({ users: [{ id: 'ada', status: 'imported', skipped: [] }], issues: [] });
    const ordered = ['1 early', '2 ada', '3 late'];
    expect(await places('imported')).toEqual(ordered);
    await expect.poll(differences).toEqual([]);
    const copy = { ...LEADERBOARDS[2], key: 'copy', name: 'Copy' };
    const both = { ...CONFIGURATION, leaderboards: [...LEADERBOARDS, copy] };
    expect((await admin.put('/v1/configuration', both)).status).toBe(200);
    await filled(listening.laurel);
    expect(await places('copy')).toEqual(ordered);
  });
});
