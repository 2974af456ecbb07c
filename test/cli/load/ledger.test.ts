import { expect, test } from 'vitest';
import type { MadeEvent } from '../../../src/cli/load/events.ts';
import { idHash, Ledger } from '../../../src/cli/load/ledger.ts';

const made = (value: number, idempotencyKey: string | null = null): MadeEvent => ({
  metricKey: 'flips',
  event: { user: { id: 'ada' }, value },
  idempotencyKey,
});
const account = (ledger: Ledger) => ledger.accounts.get('ada')?.get('flips');

test('counts what was acknowledged: not refusals, not quarantine, and the clamped value', () => {
  const ledger = new Ledger();
  ledger.note([made(2.25)], '201', '{"eventId":"a","total":2.25}');
  ledger.note([made(3)], '202', '{"eventId":"b","idempotentReplayed":true}');
  ledger.note([made(9)], '201', '{"eventId":"c","guarded":{"guard":"maxValue","action":"clamp","value":4}}');
  ledger.note([made(9)], '202', '{"eventId":"d","guarded":{"guard":"maxValue","action":"quarantine"}}');
  ledger.note([made(9)], '429', '{"error":"Too many"}');
  ledger.note([made(9)], '422', '{"error":"No"}');
  expect(account(ledger)).toEqual({
    count: 3,
    sum: 9_250_000,
    ids: (idHash('a') + idHash('b') + idHash('c')) % 2 ** 52,
    withoutId: 0,
    unknown: 0,
    unknownSum: 0,
  });
  expect(ledger.unsettled).toEqual([]);
});

test.each(['503', '500', 'closed', 'timeout'])('%s: recorded or not; only a key can settle it', (status) => {
  const ledger = new Ledger();
  ledger.note([made(5)], status, '');
  ledger.note([made(7, 'key')], status, '');
  expect(account(ledger)).toMatchObject({ count: 0, unknown: 1, unknownSum: 5_000_000 });
  expect(ledger.unsettled).toEqual([made(7, 'key')]);
});

test('results of a batch count one by one; a batch that is only queued has no IDs', () => {
  const ledger = new Ledger();
  const results = [
    { status: 201, eventId: 'a' },
    { status: 422, error: 'No' },
    { status: 201, eventId: 'b' },
  ];
  ledger.note([made(1), made(2), made(4)], '200', JSON.stringify({ accepted: 3, results }));
  expect(account(ledger)).toMatchObject({ count: 2, sum: 5_000_000, withoutId: 0 });
  ledger.note([made(1), made(2)], '202', '{"accepted":2}');
  expect(account(ledger)).toMatchObject({ count: 4, sum: 8_000_000, withoutId: 2 });
});

test('the ledgers of two processes add up, in any order of the events', () => {
  const [one, other, both] = [new Ledger(), new Ledger(), new Ledger()];
  for (let no = 0; no < 1_000; no += 1) {
    const body = `{"eventId":"01a22303-336b-72b9-85a5-${no}"}`;
    both.note([made(no)], '201', body);
    (no % 3 === 0 ? one : other).note([made(no)], '201', body);
  }
  const merged = new Ledger();
  merged.merge(structuredClone(other.parts()));
  merged.merge(structuredClone(one.parts()));
  expect(account(merged)).toEqual(account(both));
  // A lost event and a doubled one of the same value do not cancel.
  const wrong = new Ledger();
  for (const id of ['a', 'a', 'c']) wrong.note([made(1)], '201', `{"eventId":"${id}"}`);
  const right = new Ledger();
  for (const id of ['a', 'b', 'c']) right.note([made(1)], '201', `{"eventId":"${id}"}`);
  expect(account(wrong)!.ids).not.toBe(account(right)!.ids);
});
