import { setTimeout as sleep } from 'node:timers/promises';
import { Command, Option } from 'commander';
import { parsedJson } from '../json.ts';
import { CommandError, EXIT } from './command.ts';

/** How a command reaches the Admin API. */
export interface AdminOptions {
  url: string;
  key?: string;
  tenant?: string;
  json?: boolean;
  /** The option that gave `url`, for messages; by default `--url`. */
  urlOption?: string;
}

/** The Admin API refused a request, or did not answer. */
export class AdminRefusal extends CommandError {
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

/** Longer than any operation takes, except those that set their own. */
const TIMEOUT_MS = 60_000;

/** `--key <key>`: by default `LAUREL_KEY`, or else `ADMIN_API_KEY`, its name before. */
export const keyOption = (description: string): Option =>
  new Option('--key <key>', description).env('LAUREL_KEY').default(process.env['ADMIN_API_KEY'], 'ADMIN_API_KEY');

/** Adds the options that select a Laurel; the environment provides their defaults. */
export const withAdminOptions = (command: Command): Command =>
  command
    .addOption(new Option('--url <url>', 'the Admin API').env('ADMIN_URL').default('http://localhost:8081'))
    .addOption(keyOption('an admin key'))
    .addOption(new Option('--tenant <id>', 'the tenant, in a multi-tenant organisation'))
    .option('--json', 'print JSON');

/** Accepts the same options anywhere in the command line. A command without such options refuses them. */
export function withAdminOptionsAnywhere(laurel: Command): Command {
  for (const { flags, description } of withAdminOptions(new Command()).options) laurel.option(flags, description);
  return laurel.hook('preAction', (_, action) => {
    for (const [name, value] of Object.entries(laurel.opts())) {
      if (!action.options.some((option) => option.attributeName() === name))
        throw new CommandError(
          `\`laurel ${action.name()}\` takes no --${name}: \`laurel ${action.name()} --help\` lists its options.`,
        );
      action.setOptionValueWithSource(name, value, 'cli');
    }
  });
}

/** Sends a request and returns the answer's body, whose type the caller states. Ends the command if it is refused or not answered. */
export async function askAdmin<T = unknown>(
  { url, key, tenant, urlOption = '--url' }: AdminOptions,
  request: { method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'; path: string; body?: unknown; timeoutMs?: number },
): Promise<T> {
  const { method, path, body, timeoutMs = TIMEOUT_MS } = request;
  if (key === undefined || key === '') throw new CommandError('An admin key is required: set LAUREL_KEY or --key.');
  const headers = {
    'X-API-KEY': key,
    ...(tenant !== undefined && { 'Tenant-ID': tenant }),
    ...(body !== undefined && { 'Content-Type': 'application/json' }),
  };
  const response = await send(addressOf(url, path), {
    method,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
    timeoutMs,
    urlOption,
  });
  if (response.status >= 300 && response.status < 400)
    throw new AdminRefusal(
      `${url} redirects, and the key is sent nowhere else: ${urlOption} must be the address of Laurel itself.`,
      response.status,
    );
  if (response.status === 204) return undefined as T;
  const answer = parsedJson(response.text);
  if (response.status < 300 && answer !== undefined) return answer as T;
  throw new AdminRefusal(refusal(url, path, response.status, answer), response.status);
}

/** Refusals that concern one request, and not the key, the server or its load. */
const isAboutRequest = (error: unknown): error is AdminRefusal =>
  error instanceof AdminRefusal && [400, 404, 409, 422].includes(error.status);

/**
 * Does something with each subject, also after one was refused. Writes the reason of each refusal to standard error, and sets exit
 * code 1. Returns the results in order; those of refused subjects are left out. An error that concerns all ends the command.
 */
export async function withEach<T>(subjects: readonly string[], work: (subject: string) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  for (const subject of subjects)
    try {
      results.push(await work(subject));
    } catch (error) {
      if (!isAboutRequest(error)) throw error;
      process.stderr.write(`${subject}  ${error.message.replaceAll(/\s*\n\s*/g, ' ')}\n`);
      process.exitCode = EXIT.differs;
    }
  return results;
}

/** Entries that the CLI reads in one request. */
const PAGE = 100;

/**
 * The first entries of a list with cursors, up to `limit`. `name`: the field of the answers that has a page's entries. Leaves out
 * parameters that are undefined.
 */
export async function askEntries<T>(
  options: AdminOptions,
  path: string,
  name: string,
  { limit, ...parameters }: { limit: number } & Record<string, string | number | undefined>,
): Promise<T[]> {
  const entries: T[] = [];
  for (let cursor: string | null | undefined; cursor !== null && entries.length < limit;) {
    const query = queryOf({ ...parameters, limit: Math.min(PAGE, limit - entries.length), cursor });
    const request = { method: 'GET', path: `${path}?${query}` } as const;
    const page: { [name: string]: T[] } & { nextCursor: string | null } = await askAdmin(options, request);
    entries.push(...page[name]!);
    cursor = page.nextCursor;
  }
  return entries;
}

/** The first entries of a list with `skip`, up to `limit`. Leaves out parameters that are undefined. */
export async function askSkipping<T>(
  options: AdminOptions,
  path: string,
  { limit, ...parameters }: { limit: number } & Record<string, string | number | undefined>,
): Promise<T[]> {
  const entries: T[] = [];
  for (let isLast = false; !isLast && entries.length < limit;) {
    const size = Math.min(PAGE, limit - entries.length);
    const query = queryOf({ ...parameters, limit: size, skip: entries.length });
    const page = await askAdmin<T[]>(options, { method: 'GET', path: `${path}?${query}` });
    entries.push(...page);
    isLast = page.length < size;
  }
  return entries;
}

/** A query without the parameters that are undefined. */
const queryOf = (parameters: Record<string, string | number | undefined>): string =>
  new URLSearchParams(
    Object.entries(parameters).flatMap(([name, value]): [string, string][] =>
      value === undefined ? [] : [[name, String(value)]],
    ),
  ).toString();

const PAUSES_MS = [500, 1_000, 2_000, 5_000, 10_000, 20_000];

/** The same as `askAdmin`, for idempotent requests: repeats one that was not answered, or was refused temporarily. */
export async function askPatiently<T = unknown>(...request: Parameters<typeof askAdmin>): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await askAdmin<T>(...request);
    } catch (error) {
      const passes =
        error instanceof AdminRefusal && (error.status === 0 || error.status === 429 || error.status >= 500);
      if (!passes || tries === PAUSES_MS.length) throw error;
      await sleep(PAUSES_MS[tries]!);
    }
  }
}

/** The address of a path of the Admin API. Throws a sentence if `url` is invalid or contains a password. */
export function addressOf(url: string, path: string): URL {
  const base = URL.canParse(url) ? new URL(url) : null;
  // Before the address is shown, since it may contain a password.
  if (base !== null && base.username + base.password !== '')
    throw new CommandError('--url must not hold a user name or password: the key is sent in a header.');
  if (base === null || !['http:', 'https:'].includes(base.protocol))
    throw new CommandError(`--url must be an address like http://localhost:8081; it is "${url}".`);
  return new URL(base.pathname.replace(/\/+$/, '') + path, base);
}

async function send(
  address: URL,
  { timeoutMs, urlOption, ...request }: RequestInit & { timeoutMs: number; urlOption: string },
): Promise<{ status: number; text: string }> {
  try {
    // A redirect could send the key elsewhere.
    const signal = AbortSignal.timeout(timeoutMs);
    const response = await fetch(address, { ...request, redirect: 'manual', signal });
    return { status: response.status, text: await response.text() };
  } catch (error) {
    const { name, message, cause } = error as Error;
    const why =
      name === 'TimeoutError'
        ? `no answer in ${timeoutMs / 1000} s`
        : cause instanceof Error
          ? ((cause as NodeJS.ErrnoException).code ?? cause.message)
          : message;
    throw new AdminRefusal(
      `Laurel does not answer at ${address.origin} (${why}). Is it running? ${urlOption} says where.`,
      0,
    );
  }
}

function refusal(url: string, path: string, status: number, answer: unknown): string {
  const { error, hint } = Object(answer) as { error?: unknown; hint?: unknown };
  if (typeof error !== 'string') return `${url} does not answer as Laurel's Admin API does (${path}: ${status}).`;
  if (status === 401) return `${error}. --key or LAUREL_KEY must be an active admin key.`;
  if (status === 403) return `${error}. It takes an admin key.`;
  // One line for each problem.
  return `Refused (${status}):\n${error
    .split(/; (?=[A-Za-z][\w.[\]]*(?:: | (?:is|must|has|fits) )|and \d+ more$)|, (?=[\w.[\]]+ is not a known field)/)
    .concat(typeof hint === 'string' ? [hint] : [])
    .map((line) => `  ${line}`)
    .join('\n')}`;
}
