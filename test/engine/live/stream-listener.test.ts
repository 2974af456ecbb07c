import { expect, test } from 'vitest';
import { type HeldPlace, movedIn, type ReadPosition } from '../../../src/engine/live/stream-listener.ts';
import { listening, read } from './listening.ts';

const PART = { outbox: '50-3', announced: '7-1', within: null, boards: '40-0' };
const AT: ReadPosition = { parts: [PART, { ...PART, outbox: '80-0' }], asOfMs: 60 };
const PLACE: HeldPlace = { runDay: 20_000, rank: 4, value: 12, group: '' };

const message = (type: string) => ({ type, payload: JSON.stringify({ type }) });

test('messages of one position have different IDs that all contain that position', () => {
  const { listener, sent } = listening(['of-flips']);
  for (const type of ['a', 'b', 'c']) listener.put(message(type), AT);
  listener.put(message('d'), movedIn(AT, 0, { boards: '50-3' }));
  listener.put(message('e'), movedIn(AT, 0, { boards: '50-3' }));
  listener.flush();
  expect(new Set(sent.map(({ id }) => id)).size).toBe(5);
  expect(sent.map(({ id }) => read(id).position.parts[0]!.boards)).toEqual(['40-0', '40-0', '40-0', '50-3', '50-3']);
  expect(sent.map(({ id, json }) => (JSON.parse(json) as { id: string }).id === id)).not.toContain(false);
});

test('a rank is in the ID of the message that reports it and of those after it, but not before', () => {
  const { listener, sent } = listening(['of-flips']);
  listener.places.set(7, { ...PLACE, rank: 5 });
  listener.put(message('leaderboard.changed'), AT);
  listener.put({ ...message('leaderboard.rank_changed'), reports: [7, PLACE] }, AT);
  listener.put(message('points.changed'), AT);
  listener.flush();
  expect(sent.map(({ id }) => read(id).position.places.get(7)?.rank)).toEqual([5, 4, 4]);
});

test('a listener that has read ahead never claims to be where the others still are', () => {
  const { listener, sent } = listening(['of-flips']);
  listener.ahead = [
    { outbox: '55-0', announced: '9-0' },
    { outbox: '80-0', announced: '7-1' },
  ];
  listener.put(message('a'), movedIn(AT, 0, { within: 2 }));
  listener.put(message('b'), movedIn(AT, 0, { outbox: '56-0', within: 1, announced: '9-1' }));
  listener.flush();
  expect(sent.map(({ id }) => read(id).position.parts)).toMatchObject([
    [{ outbox: '55-0', within: null, announced: '9-0', boards: '40-0' }, AT.parts[1]],
    [{ outbox: '56-0', within: 1, announced: '9-1', boards: '40-0' }, AT.parts[1]],
  ]);
});
