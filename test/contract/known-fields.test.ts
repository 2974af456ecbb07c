import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { adminOperations } from '../../src/operations/index.ts';
import { startLaurel } from '../laurel.ts';
import { STUDY_APP } from '../study-app.ts';
import { opened } from '../stack/opened.ts';

/** JSON Schema as the contract uses it. */
interface Schema {
  $ref?: string;
  type?: string | string[];
  allOf?: Schema[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
}

interface Document {
  paths: Record<string, Record<string, { requestBody?: { content: Record<string, { schema: Schema }> } }>>;
}

const load = (name: string): Document => JSON.parse(readFileSync(new URL(name, import.meta.url), 'utf8')) as Document;

/** A value with every field that a schema names, in every alternative. The field values do not matter here. */
function everyField(document: Document, schema: Schema): unknown {
  if (schema.$ref !== undefined) {
    const steps = schema.$ref.split('/').slice(1);
    const found = steps.reduce((at, step) => (at as Record<string, unknown>)[step], document as unknown);
    return everyField(document, found as Schema);
  }
  const several = schema.allOf ?? schema.anyOf ?? schema.oneOf;
  if (several !== undefined) {
    const values = several.map((one) => everyField(document, one));
    const objects = values.filter((value) => value !== null && typeof value === 'object' && !Array.isArray(value));
    return objects.length > 0 ? Object.assign({}, ...objects) : values[0];
  }
  if (schema.items !== undefined) return [everyField(document, schema.items)];
  if (schema.properties === undefined) return 'any';
  return Object.fromEntries(
    Object.entries(schema.properties).map(([name, property]) => [name, everyField(document, property)]),
  );
}

const laurel = opened(() => startLaurel({ configuration: STUDY_APP, workers: true }));

test.each(['admin.json', 'newer.json'])(
  'accepts every field that the contract has in a request of %s',
  async (name) => {
    const document = load(name);
    const { body: made } = await laurel.admin.post('/v1/points', [{ key: `of-${name.slice(0, 5)}`, name: 'XP' }]);
    const systemId = made.created[0].id as string;
    let asked = 0;
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const [method, { requestBody }] of Object.entries(methods)) {
        const ours = adminOperations.some((one) => one.method === method && sameShape(one.path, `/v1${path}`));
        if (requestBody === undefined || !ours) continue;
        const body = everyField(document, requestBody.content['application/json']!.schema);
        const response = await fetch(laurel.adminUrl + `/v1${path.replaceAll(/\{\w+\}/g, systemId)}`, {
          method: method.toUpperCase(),
          headers: { 'X-API-KEY': laurel.adminKey, 'Content-Type': 'application/json' },
          body: JSON.stringify(body),
        });
        expect(`${method} ${path}: ${await response.text()}`).not.toContain('not a known field');
        expect(response.status).not.toBe(404);
        asked += 1;
      }
    }
    expect(asked).toBeGreaterThan(2);
  },
);

test('the Application API ignores the fields, parameters and headers of a newer contract', async () => {
  const newer = { fieldOfTomorrow: { a: [1] }, listOfTomorrow: [null] };
  const user = { id: 'ada', name: 'Ada', tz: 'Europe/London', ...newer };
  const range = 'aggregation=daily&startDate=2026-11-01&endDate=2026-11-02';
  const requests: [method: string, path: string, body?: object][] = [
    ['POST', '/users', user],
    ['PUT', '/users/ada', user],
    ['PATCH', '/users/ada', { attributes: { plan: 'pro' }, ...newer }],
    ['PATCH', '/users/ada/preferences', { notifications: { recap: ['email'], ofTomorrow: ['sms'] }, ...newer }],
    ['POST', '/metrics/flips/event', { user, value: 3, attributes: { deck: 'es' }, ...newer }],
    ['POST', '/achievements/tour/complete', { user, ...newer }],
    ...Object.entries(applicationContract.paths).flatMap(([path, methods]): [string, string][] =>
      'get' in methods ? [['GET', `${filled(path)}?${path.endsWith('summary') ? `${range}&` : ''}userIds=ada`]] : [],
    ),
  ];
  const operations = Object.values(applicationContract.paths).flatMap((methods) =>
    Object.keys(methods).filter((method) => method !== 'parameters'),
  );
  expect(requests).toHaveLength(operations.length);
  for (const [method, path, body] of requests) {
    const response = await fetch(
      `${laurel.appUrl}/v1${path}${path.includes('?') ? '&' : '?'}parameterOfTomorrow=x&parameterOfTomorrow=y`,
      {
        method,
        headers: {
          'X-API-KEY': laurel.adminKey,
          'Content-Type': 'application/json',
          'X-SDK-VERSION': '1.27.0',
          'X-Header-Of-Tomorrow': 'x',
        },
        ...(body && { body: JSON.stringify(body) }),
      },
    );
    const text = await response.text();
    expect([method, path, response.ok, /tomorrow/i.test(text)]).toEqual([method, path, true, false]);
  }
  expect((await laurel.app.get('/v1/users/ada/metrics/flips')).body.current).toBe(3);
});

const applicationContract = load('application.json');

/** A path of the contract with keys of the study app. */
const filled = (path: string): string =>
  path
    .replace('{id}', 'ada')
    .replace('/metrics/{key}', '/metrics/flips')
    .replace('/points/{key}', '/points/xp')
    .replace('/leaderboards/{key}', '/leaderboards/flips');

const sameShape = (one: string, other: string): boolean =>
  one.replaceAll(/\{\w+\}/g, '{}') === other.replaceAll(/\{\w+\}/g, '{}');
