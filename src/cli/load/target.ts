import type { Configuration } from '../../domain/configuration.ts';
import type { LeaderboardWithStatus } from '../../domain/leaderboard.ts';
import { didYouMean } from '../../domain/nearest.ts';
import { type AdminOptions, AdminRefusal, askAdmin, askPatiently } from '../admin-api.ts';
import { CommandError } from '../command.ts';
import { type Shape, shapeOf } from './events.ts';
import type { Scenario } from './scenario.ts';

/** The Laurel under test. `admin`: its Admin API; `null` without access to it. */
export interface Target {
  app: AdminOptions;
  admin: AdminOptions | null;
}

/** A resolved scenario's names, and the metrics that had to be created. */
export interface Names {
  shape: Shape;
  created: string[];
}

const BOARD = 'active leaderboard without a breakdown';
/** An ID that no user has. */
const NOBODY = 'laurel-load-nobody';

/** Checks that the Application API answers, and not the Admin API, and that it takes the key. */
export async function checkKey({ app }: Target): Promise<void> {
  try {
    await askAdmin(app, { method: 'GET', path: `/v1/streaks?userIds=${NOBODY}` });
  } catch (error) {
    if (!(error instanceof AdminRefusal)) throw error;
    if (error.status === 401 || error.status === 403)
      throw new CommandError(`${app.url} refuses the key (${error.status}). --key must be an active admin key.`);
    if (error.status === 404) throw new CommandError(`--url must be the Application API; ${app.url} is not.`);
    throw error;
  }
}

/**
 * The names that a scenario's requests use. With access to the Admin API, metrics that do not exist are created, and a scenario
 * that names none uses all of the tenant's resources. Otherwise the names must exist; nothing is guessed.
 */
export async function resolveNames(target: Target, scenario: Scenario): Promise<Names> {
  return target.admin === null ? namesWithoutAdmin(target, scenario) : namesWithAdmin(target.admin, scenario);
}

async function namesWithAdmin(admin: AdminOptions, scenario: Scenario): Promise<Names> {
  const configuration = await askAdmin<Configuration>(admin, { method: 'GET', path: '/v1/configuration' });
  const existing = shapeOf(configuration);
  const weighted = weights(scenario.metrics);
  const missing = Object.keys(weighted).filter((key) => !Object.hasOwn(existing.metrics, key));
  if (missing.length > 0) await createMetrics(admin, missing);
  const metrics = Object.keys(weighted).length > 0 ? weighted : existing.metrics;
  if (Object.keys(metrics).length === 0)
    throw new CommandError('metrics: the tenant has none. Name one (--metric load-test), and it is created.');
  const shape: Shape = {
    ...existing,
    metrics,
    leaderboards: known(scenario.leaderboards, existing.leaderboards, ['leaderboards', BOARD]),
    pointsSystems: known(scenario.pointsSystems, existing.pointsSystems, ['pointsSystems', 'points system']),
    ...attributesOf(scenario, existing),
  };
  return { shape: withoutUnusable(shape, scenario), created: missing };
}

/** The names, or all if none are given. Refuses those that do not exist. */
function known(names: string[] | undefined, all: string[], [field, what]: [string, string]): string[] {
  const unknown = names?.find((name) => !all.includes(name));
  if (unknown !== undefined)
    throw new CommandError(
      `${field}: there is no ${what} with the key '${unknown}'. ${didYouMean(unknown, all) ?? ''}`,
    );
  return names ?? all;
}

async function createMetrics(admin: AdminOptions, keys: readonly string[]): Promise<void> {
  const body = keys.map((key) => ({ key, name: key }));
  await askAdmin(admin, { method: 'POST', path: '/v1/metrics?strict=true', body });
}

async function namesWithoutAdmin({ app }: Target, scenario: Scenario): Promise<Names> {
  const metrics = weights(scenario.metrics);
  if (Object.keys(metrics).length === 0)
    throw new CommandError(
      'metrics: name those of the events (--metric KEY), or give --admin-url, and all of the tenant’s metrics are used.',
    );
  for (const key of Object.keys(metrics)) await needMetric(app, key);
  const boards = await askAdmin<LeaderboardWithStatus[]>(app, { method: 'GET', path: '/v1/leaderboards' });
  const active = boards
    .filter(({ status, breakdownAttributes }) => status === 'active' && breakdownAttributes.length === 0)
    .map(({ key }) => key);
  const leaderboards = known(scenario.leaderboards, active, ['leaderboards', BOARD]);
  for (const key of scenario.pointsSystems ?? [])
    await askAdmin(app, { method: 'GET', path: `/v1/points/${encodeURIComponent(key)}/summary` });
  const shape: Shape = {
    metrics,
    leaderboards,
    pointsSystems: scenario.pointsSystems ?? [],
    ...attributesOf(scenario, { userAttributes: [], eventAttributes: [] }),
  };
  return { shape: withoutUnusable(shape, scenario), created: [] };
}

async function needMetric(app: AdminOptions, key: string): Promise<void> {
  try {
    await askAdmin(app, { method: 'GET', path: `/v1/users/${NOBODY}/metrics/${encodeURIComponent(key)}` });
  } catch (error) {
    // An unknown user is 404, too, after the metric was found.
    if (!(error instanceof AdminRefusal) || error.status !== 404) throw error;
    if (error.message.includes('Unknown metric'))
      throw new CommandError(
        `metrics: there is no metric with the key '${key}'. With --admin-url it is created in the tenant; without, only metrics that exist can be used.`,
      );
  }
}

function weights(names: Scenario['metrics']): Record<string, number> {
  return Array.isArray(names) ? Object.fromEntries(names.map((name) => [name, 1])) : (names ?? {});
}

function attributesOf(
  { attributes }: Scenario,
  existing: Pick<Shape, 'userAttributes' | 'eventAttributes'>,
): Pick<Shape, 'userAttributes' | 'eventAttributes'> {
  const { userAttributes, eventAttributes } = existing;
  if (attributes === undefined) return { userAttributes, eventAttributes };
  const choices = (values: Record<string, string[]> = {}) =>
    Object.entries(values).map(([key, list]) => ({ key, values: list }));
  return { userAttributes: choices(attributes.user), eventAttributes: choices(attributes.event) };
}

/** Refuses requests for which the tenant has nothing. */
function withoutUnusable(shape: Shape, { requests }: Scenario): Shape {
  const needs = (kind: string, list: readonly string[], what: string): void => {
    if (list.length === 0 && requests.some((request) => request.kind === kind))
      throw new CommandError(`requests: '${kind}' needs ${what}.`);
  };
  needs('leaderboard', shape.leaderboards, 'an active leaderboard, and the tenant has none');
  needs('summary', shape.pointsSystems, 'pointsSystems, the keys of points systems that exist');
  return shape;
}

/** Users that a request lists or deletes. */
const PAGE = 100;

/** Deletes up to 100 users; returns how many existed. */
export async function deleteUsers(admin: AdminOptions, ids: readonly string[]): Promise<number> {
  const path = `/v1/users?ids=${ids.map(encodeURIComponent).join(',')}`;
  const answer = await askPatiently<{ deleted: unknown[] }>(admin, { method: 'DELETE', path });
  return answer.deleted.length;
}

/** The IDs of users that begin with a text, in pages. */
export async function* usersBeginning(admin: AdminOptions, prefix: string): AsyncGenerator<string[]> {
  for (let after: string | undefined; ;) {
    const query = new URLSearchParams({ search: prefix, limit: String(PAGE), ...(after !== undefined && { after }) });
    const page = await askPatiently<{ id: string }[]>(admin, { method: 'GET', path: `/v1/users?${query.toString()}` });
    const ids = page.map(({ id }) => id).filter((id) => id.startsWith(prefix));
    if (ids.length > 0) yield ids;
    after = page.at(-1)?.id;
    if (page.length < PAGE) return;
  }
}
