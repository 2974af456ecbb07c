import { expect, test } from 'vitest';
import { outboxKey } from '../../../../src/redis/keys.ts';
import { eventually } from '../../../chaos/processes.ts';
import { runAdminCli, type Ended } from '../../../cli/run-cli.ts';
import { eventRecord, pack, packedState } from '../../../engine/persist/outbox-writer.ts';
import { startLaurel } from '../../../laurel.ts';
import { STUDY_APP } from '../../../study-app.ts';
import { opened } from '../../../stack/opened.ts';

// `laurel dead-letters` in its own process, beside a Laurel that stores the planted entries.
const laurel = opened(() => startLaurel({ configuration: STUDY_APP, workers: true }));

const cli = (...words: string[]): Promise<Ended> => runAdminCli(laurel, ['dead-letters', ...words]);

const metric = async (name: string): Promise<number> => {
  const text = await (await fetch(`${laurel.adminUrl}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]);
};

/** Plants an event with another event's ID; returns the ID of the resulting dead letter. */
async function plant(userId: string, idOf: string): Promise<string> {
  const { body: before } = await laurel.admin.get('/v1/dead-letters?limit=100');
  const record = eventRecord({ u: userId, i: idOf.replaceAll('-', ''), m: 1 });
  const states = ['u', userId, 's', packedState()];
  await laurel.redis.xadd(outboxKey(0), '*', 't', 0, 'r', pack(record), ...states);
  await eventually('it is set aside', async () => {
    return (await laurel.admin.get('/v1/dead-letters?limit=100')).body.length > before.length;
  });
  return (await laurel.admin.get('/v1/dead-letters?limit=100')).body.at(-1).id;
}

test('the Admin API and the command list, show, retry and drop dead letters', async () => {
  expect((await cli('list')).out).toBe('There are no dead letters.\n');
  const { body: event } = await laurel.app.post('/v1/metrics/flips/event', { user: { id: 'ada' }, value: 1 });
  const [first, second] = [await plant('bob', event.eventId), await plant('cleo', event.eventId)];
  // The following entries were stored, and can be read.
  await laurel.app.post('/v1/metrics/flips/event', { user: { id: 'ada' }, value: 1 });
  await eventually('the event behind is stored', async () => {
    const { rows } = await laurel.pool.query(`SELECT FROM events WHERE user_id = 'ada'`);
    return rows.length === 2;
  });
  expect([await metric('laurel_dead_letters'), await metric('laurel_dead_letters_total')]).toEqual([2, 2]);

  const listed = await cli('list');
  expect(listed).toMatchObject({ code: 0, out: expect.stringContaining(`${first}  `) });
  expect(listed.out).toMatch(/events_d\d+_pkey/);
  expect(listed.out).not.toMatch(/bob|cleo/);
  const shown = JSON.parse((await cli('show', first)).out);
  expect(shown).toMatchObject({ status: 'waiting', parts: [{ part: 'record', at: 0, user: 'bob' }] });
  expect(shown.entry).toMatchObject({ records: [{ k: 'e', u: 'bob' }], states: [{ user: 'bob' }] });
  expect((await laurel.admin.get(`/v1/dead-letters/${first}`)).body).toEqual(shown);

  expect(await cli('retry', first)).toMatchObject({ code: 1, out: expect.stringContaining('still waits') });
  for (const table of ['events', 'used_keys'])
    await laurel.pool.query(`DELETE FROM ${table} WHERE id = $1`, [event.eventId]);
  expect(await cli('retry', first)).toMatchObject({ code: 0, out: `${first}  stored\n` });
  expect((await laurel.pool.query(`SELECT FROM events WHERE user_id = 'bob'`)).rows).toHaveLength(1);
  expect((await laurel.admin.get('/v1/dead-letters?status=stored')).body).toMatchObject([{ id: first, parts: [] }]);

  expect(await cli('drop', second)).toMatchObject({ code: 2, err: expect.stringContaining('--yes') });
  expect(await cli('drop', '--yes', second)).toMatchObject({ code: 0, out: `${second}  dropped\n` });
  expect(await cli('drop', '--yes', second)).toMatchObject({ code: 1 });
  expect((await laurel.admin.get(`/v1/dead-letters/${second}`)).status).toBe(404);
  expect((await laurel.admin.post(`/v1/dead-letters/${second}/retry`)).status).toBe(404);
  expect([await metric('laurel_dead_letters'), await metric('laurel_dead_letters_total')]).toEqual([0, 2]);
  const audit = await laurel.admin.get('/v1/audit-log?kind=deadLetter');
  expect(audit.body.map(({ action, resourceId }: never) => [action, resourceId])).toEqual([
    ['delete', second],
    ['update', first],
    ['update', first],
  ]);
});
