import { beforeAll, expect, test } from 'vitest';
import { startLaurel } from '../laurel.ts';
import { runAdminCli, type Ended } from './run-cli.ts';
import { opened } from '../stack/opened.ts';

// `laurel jobs` in its own process. Without workers, no job makes progress.

let id: string;

const laurel = opened(async () => {
  const five = {
    key: 'five',
    name: 'Five',
    trigger: 'metric',
    metricKey: 'm',
    metricValue: 5,
    status: 'active',
  } as const;
  return startLaurel({ configuration: { metrics: [{ key: 'm', name: 'M' }], achievements: [five] } });
});
beforeAll(async () => {
  id = (await laurel.admin.get('/v1/jobs')).body[0].id;
});

const cli = (...words: string[]): Promise<Ended> => runAdminCli(laurel, ['jobs', ...words]);

test('list, cancel and retry', async () => {
  const { code, out, err } = await cli('list', '--kind', 'backdating');
  expect([code, err]).toEqual([0, '']);
  expect(out.split('\n')[1]).toMatch(new RegExp(`^${id}  backdating  Five   waiting  0  .*  -$`));
  expect(JSON.parse((await cli('list', '--json')).out)).toEqual((await laurel.admin.get('/v1/jobs')).body);
  expect((await cli('list', '--status', 'done')).out).toBe('There are no such jobs.\n');
  expect((await cli('cancel', id)).out).toMatch(/ cancelled /);
  expect(await cli('cancel', id)).toMatchObject({ code: 2, err: expect.stringContaining('it cannot be cancelled') });
  expect((await cli('retry', id)).out).toMatch(/ waiting /);
});

test('retry --wait prints progress in lines without a terminal, and ends with the job', async () => {
  await cli('cancel', id);
  const waiting = cli('retry', id, '--wait');
  await expect.poll(async () => (await laurel.admin.get(`/v1/jobs/${id}`)).body.status).toBe('waiting');
  await laurel.pool.query(`UPDATE jobs SET status = 'done', done = 4, total = 4, finished = now() WHERE id = $1`, [id]);
  const { code, out, err } = await waiting;
  // One line each two seconds, which a busy machine may take.
  expect([code, err.replaceAll(/\(.*?\)/g, '')]).toEqual([0, expect.stringMatching(/^(?:backdating: 0 \n)+$/)]);
  expect(out).toMatch(/ done +4 of 4 /);
});
