import { expect, test } from 'vitest';
import { auditDeadLetters } from './audit-dead-letters.ts';
import { auditEvents, type StoredEvent } from './audit-events.ts';
import { auditWebhooks, type StoredMessage } from './audit-webhooks.ts';
import { Ledger } from './ledger.ts';
import { microsOf, microsText } from './micros.ts';
import { ModelUser } from './model.ts';
import { quantile } from './report.ts';
import type { EntryPosition } from './stack.ts';

// Tests that the auditor finds what it exists to find.

function run(): {
  ledger: Ledger;
  rows: StoredEvent[];
  audit: () => { differences: string[]; lost: number; duplicated: number };
} {
  const ledger = new Ledger('r');
  const rows: StoredEvent[] = [];
  for (let n = 1; n <= 3; n++) {
    const event = ledger.add({ userId: 'ann', metric: 'cards', micros: 2_000_000n, keyed: true, batch: false });
    event.outcome = 'acknowledged';
    event.eventId = `id-${n}`;
    const total = String(2 * n);
    rows.push({ id: `id-${n}`, userId: 'ann', metricNo: 1, value: '2', total, date: '2026-01-01', mark: event.mark });
  }
  const audit = () => {
    const differences: string[] = [];
    return { differences, ...auditEvents(ledger, rows, differences) };
  };
  return { ledger, rows, audit };
}

test('reports no difference if everything agrees', () => {
  expect(run().audit()).toEqual({ differences: [], lost: 0, duplicated: 0 });
});

test('finds a lost, duplicate, refused or unsent event, and one with another ID', () => {
  const lost = run();
  lost.rows.pop();
  expect(lost.audit()).toMatchObject({ lost: 1, differences: ['event r-3 was acknowledged, but is lost'] });

  const twice = run();
  twice.rows.push({ ...twice.rows[0]!, id: 'id-9' });
  expect(twice.audit().duplicated).toBe(1);

  const refused = run();
  refused.ledger.events.get('r-2')!.outcome = 'refused';
  expect(refused.audit().differences).toEqual(['event r-2 was refused, but is stored as id-2']);

  const unsent = run();
  unsent.rows.push({ ...unsent.rows[0]!, mark: 'x' });
  expect(unsent.audit().differences).toEqual(['event id-1 (x) was never sent']);

  const other = run();
  other.rows[0]!.id = 'id-8';
  expect(other.audit().differences).toEqual(['event r-1 was answered as id-1, but is stored as id-8']);

  const abandoned = run();
  abandoned.ledger.events.get('r-1')!.outcome = 'abandoned';
  abandoned.rows.shift();
  expect(abandoned.audit().differences).toEqual([]);
});

test('finds a planted entry that is not set aside, an unplanted one that is, and a duplicate', () => {
  const [planted, other] = ['1-0', '2-0'].map((position) => ({ shard: 0, position })) as [EntryPosition, EntryPosition];
  const found = (listed: EntryPosition[]): string[] => {
    const differences: string[] = [];
    auditDeadLetters([planted], listed, differences);
    return differences;
  };
  expect(found([planted])).toEqual([]);
  expect(found([])).toEqual(['the damaged entry at 1-0 of shard 0 is not listed']);
  expect(found([planted, other])).toEqual(['the entry at 2-0 of shard 0 was set aside, although nobody damaged it']);
  expect(found([planted, planted])).toEqual(['the entry at 1-0 of shard 0 is listed twice']);
});

test('finds a completion that is unreported or reported twice, a message that did not arrive and one out of order', () => {
  const stored = (n: number, key: string): StoredMessage => ({
    id: `m${n}`,
    type: 'achievement.completed',
    userId: 'ann',
    status: 'delivered',
    sequence: n,
    payload: { achievement: { key } },
  });
  const arrival = (id: string) => ({ headers: { 'webhook-id': id }, body: '' });
  const found = (completions: string[], log: StoredMessage[], ids: string[]): string[] => {
    const differences: string[] = [];
    auditWebhooks({ completions, log, received: ids.map(arrival) }, differences);
    return differences;
  };
  const both = [stored(1, 'goal'), stored(2, 'begun')];
  const completions = ['ann goal', 'ann begun'];
  expect(found(completions, both, ['m1', 'm1', 'm2', 'm1'])).toEqual([]);
  expect(found([...completions, 'ben goal'], both, ['m1', 'm2'])).toEqual(['the completion ben goal was not reported']);
  expect(found(['ann goal'], both, ['m1', 'm2'])).toEqual([
    'the completion ann begun was reported, but does not exist',
  ]);
  expect(found(completions, [...both, stored(3, 'goal')], ['m1', 'm2', 'm3'])).toEqual([
    'the completion ann goal was reported 2 times',
  ]);
  expect(found(completions, both, ['m1'])).toEqual(['the message m2 did not arrive']);
  expect(found(completions, both, ['m1', 'm2', 'm9'])).toEqual(['the message m9 arrived, but is not in the log']);
  expect(found(completions, both, ['m2', 'm1'])).toEqual(['the message m1 about ann arrived out of order']);
  expect(found(completions, [both[0]!, { ...both[1]!, status: 'pending' }], ['m1', 'm2'])).toEqual([
    'the message m2 arrived, but is pending',
  ]);
});

test('decimals are exact', () => {
  expect(microsText(microsOf('0.1') + microsOf('0.2'))).toBe('0.3');
  expect(microsText(microsOf('-12.500000'))).toBe('-12.5');
  expect(microsText(microsOf('1000000000000') + microsOf('-0.000001'))).toBe('999999999999.999999');
  expect(() => microsOf('1e3')).toThrow();
});

test('the model: welcome, steps by the highest total, spending, achievements', () => {
  const user = new ModelUser();
  expect(user.event('spend', microsOf('2'))).toBe(false);
  expect(user.known).toBe(false);
  expect(user.event('spend', microsOf('1'))).toBe(true);
  expect(user.points).toBe(1);
  user.event('minutes', microsOf('7.5'));
  user.event('minutes', microsOf('-5'));
  user.event('minutes', microsOf('5'));
  expect(user.points).toBe(3);
  user.event('cards', microsOf('100'));
  expect(user.points).toBe(3 + 30 + 50);
  expect([...user.achieved].toSorted()).toEqual(['begun', 'both', 'goal']);
});

test('quantiles', () => {
  expect([quantile([], 0.5), quantile([4, 1, 3, 2], 0.5), quantile([4, 1, 3, 2], 0.99)]).toEqual([0, 2, 4]);
});
