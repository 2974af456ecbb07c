import { expect, test } from 'vitest';
import { startLaurel } from '../laurel.ts';
import { STUDY_APP } from '../study-app.ts';
import { opened } from '../stack/opened.ts';

// All spellings of a time zone are one zone, which exists only while it has users.
const laurel = opened(() => startLaurel({ configuration: STUDY_APP, testClock: true, workers: true }));

const setClock = async (now: string): Promise<void> => {
  const { status } = await laurel.admin.put('/v1/clock', { now });
  if (status !== 200) throw new Error(`The clock cannot be set to ${now}: ${status}`);
};
const event = (id: string, tz?: string) =>
  laurel.app.post('/v1/metrics/flips/event', { user: { id, ...(tz !== undefined && { tz }) }, value: 1 });
const tzOf = async (id: string): Promise<unknown> => (await laurel.app.get(`/v1/users/${id}`)).body.tz;
const zones = async (): Promise<string[]> =>
  (await laurel.pool.query('SELECT zone FROM streak_zones ORDER BY zone')).rows.map(({ zone }) => zone as string);

/** The zone name in all spellings, up to a number. */
const spellings = (name: string, count: number): string[] =>
  Array.from({ length: count }, (_, no) =>
    Array.from(name, (letter, at) => ((no >> at) & 1 ? letter.toUpperCase() : letter.toLowerCase())).join(''),
  );

test('answers and sweeps every spelling of a zone as one zone', async () => {
  await setClock('2031-03-03T12:00:00.000Z');
  const sent = spellings('europe/berlin', 200);
  for (const [no, tz] of sent.entries()) expect((await event(`b${no}`, tz)).status).toBe(201);
  expect(await tzOf('b7')).toBe('Europe/Berlin');
  await expect.poll(zones).toEqual(['Europe/Berlin']);
});

test.each(['us/pacific', 'asia/kolkata', 'asia/calcutta', 'utc', 'etc/gmt+5', 'america/argentina/comodrivadavia'])(
  '%s is a zone of the database, in its spelling',
  async (tz) => {
    expect((await laurel.app.put('/v1/users/named', { tz })).status).toBe(200);
    const answered = String(await tzOf('named'));
    expect([answered.toLowerCase(), answered === tz]).toEqual([tz, false]);
  },
);

test.each(['+05:30', '-08', 'UTC+1', 'Europe/Berlin ', 'Asia/\u212Aolkata', '../etc', 'Mars/Olympus'])(
  'refuses %j: there would be no limit to the number of fixed offsets',
  async (tz) => {
    expect(await laurel.app.put('/v1/users/named', { tz })).toMatchObject({
      status: 422,
      body: { error: expect.stringContaining('Unknown time zone') },
    });
  },
);

test('a zone that its last user left is gone after its next midnight, and is back with the next user', async () => {
  expect((await event('traveller', 'Asia/Tokyo')).status).toBe(201);
  await expect.poll(zones).toContain('Asia/Tokyo');
  expect((await event('traveller', 'Europe/Berlin')).status).toBe(201);
  await expect.poll(async () => (await laurel.app.get('/v1/users/traveller/streak')).body.length).toBe(1);
  await setClock('2031-03-05T12:00:00.000Z');
  expect(await zones()).toEqual(expect.not.arrayContaining(['Asia/Tokyo']));
  expect(await zones()).toContain('Europe/Berlin');
  expect((await event('traveller', 'Asia/Tokyo')).status).toBe(201);
  await expect.poll(zones).toContain('Asia/Tokyo');
});
