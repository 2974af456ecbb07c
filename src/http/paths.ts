import { editDistance } from '../domain/nearest.ts';
import { AppError } from '../errors.ts';
import type { Operation } from '../operations/operation.ts';
import { refusedAfterClose } from './respond.ts';
import { routePattern } from './route.ts';
import type { HttpRequest, HttpResponse, TemplatedApp } from './uws.ts';

export type Handler = (res: HttpResponse, req: HttpRequest) => void;

/** Names of uWS's registration functions, by method. */
const VERBS = { GET: 'get', HEAD: 'head', POST: 'post', PUT: 'put', PATCH: 'patch', DELETE: 'del' } as const;
type Verb = keyof typeof VERBS;

export class Paths {
  private readonly paths = new Map<string, Map<Verb, Handler>>();

  /** Adds a method to a path, with HEAD for GET. Throws if it already exists. */
  add(path: string, method: Operation['method'], handler: (headOnly: boolean) => Handler): void {
    const verb = method.toUpperCase() as Verb;
    const pattern = routePattern(path);
    const verbs = this.paths.get(pattern) ?? new Map<Verb, Handler>();
    if (verbs.has(verb)) throw new Error(`${verb} ${path} is declared twice`);
    verbs.set(verb, handler(false));
    if (verb === 'GET') verbs.set('HEAD', handler(true));
    this.paths.set(pattern, verbs);
  }

  /** Registers everything. Other methods of a path are registered individually, because uWS tries `any` last. */
  register(
    app: TemplatedApp,
    limits: {
      /** Lets a handler answer only requests that name this server. */
      named: (handler: Handler) => Handler;
      refuse: (error: AppError) => Handler;
      /** Answers OPTIONS for a path with these methods. */
      preflight: (methods: string, notAllowed: AppError) => Handler;
    },
  ): void {
    const { named, refuse, preflight } = limits;
    const guarded = (handler: Handler): Handler => unlessClosing(named(handler));
    const refusals = new Map<string, { error: AppError; notAllowed: Handler }>();
    for (const [pattern, verbs] of this.paths) {
      const allow = [...verbs.keys()].sort().join(', ');
      const refusal = refusals.get(allow) ?? refusalOf(allow, refuse);
      refusals.set(allow, refusal);
      const notAllowed = guarded(refusal.notAllowed);
      app.options(pattern, guarded(preflight(allow, refusal.error)));
      for (const [verb, name] of Object.entries(VERBS)) {
        const handler = verbs.get(verb as Verb);
        app[name](pattern, handler === undefined ? notAllowed : guarded(handler));
      }
      app.any(pattern, notAllowed);
    }
    app.any('/*', guarded(refuse(new AppError('unknown_path', 'There is no such path'))));
  }
}

/** The answer to methods of a path other than those allowed. Paths share it, because each error records a stack. */
function refusalOf(allow: string, refuse: (error: AppError) => Handler): { error: AppError; notAllowed: Handler } {
  const error = new AppError('method_not_allowed', `The method is not allowed here, only ${allow}`, {
    headers: { Allow: allow },
  });
  return { error, notAllowed: refuse(error) };
}

const unlessClosing =
  (handler: Handler): Handler =>
  (res, req) =>
    refusedAfterClose(res) ? undefined : handler(res, req);

/** The surface that another port of this installation serves. */
export interface OtherPort {
  operations: readonly Operation[];
  /** 0 means that the system chooses one. */
  port: number;
}

const fits = (declared: string, step: string | undefined): boolean =>
  declared.startsWith('{') ? step !== '' && step !== undefined : declared === step;

/** The hint for a request that belongs to the other port; `undefined` if it has no such operation either. */
export function otherPortHint(
  surface: Operation['surface'],
  { operations, port }: OtherPort,
): (method: string, path: string) => string | undefined {
  const declared = operations.flatMap(({ method, path, aliases }) =>
    [path, ...aliases].map((each) => ({ method, steps: each.split('/') })),
  );
  const other = surface === 'application' ? 'admin' : 'application';
  const where = port === 0 ? 'another port' : `port ${port}`;
  const hint = `This is the ${surface} port; ${other} operations are on ${where}.`;
  return (method, path) => {
    const wantedMethod = method === 'head' ? 'get' : method;
    const steps = path.split('/');
    const exists = declared.some(
      (each) =>
        each.method === wantedMethod &&
        each.steps.length === steps.length &&
        each.steps.every((step, index) => fits(step, steps[index])),
    );
    return exists ? hint : undefined;
  };
}

/** Longer paths and steps have no hint. */
const MOST_PATH = 200;
const MOST_STEP = 40;
/** Tolerated share of different characters in one step. */
const STEP_SHARE = 0.4;
const ROOT = '/v1';

/** The path itself, and what it is without a mistake in the base address: no `/v1`, `/v1` twice, a slash twice or at the end. */
function meantPaths(path: string): string[] {
  const meant = [path, `${ROOT}${path}`];
  if (path.startsWith(`${ROOT}${ROOT}/`)) meant.push(path.slice(ROOT.length));
  if (path.includes('//')) meant.push(path.replaceAll(/\/{2,}/g, '/'));
  if (path.endsWith('/')) meant.push(path.slice(0, -1));
  return meant;
}

/** The hint for a path that differs from one of the surface's in a few characters of one step, or in its beginning or end; otherwise `undefined`. */
export function similarPathHint(
  operations: readonly Pick<Operation, 'method' | 'path'>[],
): (method: string, path: string) => string | undefined {
  const declared = operations.map(({ method, path }) => ({ method, path, steps: path.split('/') }));
  return (method, path) => {
    if (path.length > MOST_PATH) return undefined;
    const meant = meantPaths(path).map((text) => text.split('/'));
    const found = declared
      .flatMap((each) => {
        const edits = Math.min(...meant.map((steps, at) => editsOf(each.steps, steps) + (at === 0 ? 0 : 1)));
        return edits === Infinity ? [] : [{ ...each, edits, isOther: Number(each.method !== method) }];
      })
      .toSorted((one, other) => one.edits - other.edits || one.isOther - other.isOther);
    if (found.length === 0) return undefined;
    // Without an edit, the path exists, and only the method is wrong: lists are changed at the path without an ID.
    const [nearest] =
      found[0]!.edits > 0
        ? found
        : declared.filter((each) => each.method === method && isListOf(each.steps, meant[0]!));
    return nearest && `Did you mean ${nearest.method.toUpperCase()} ${nearest.path}?`;
  };
}

/** Whether `steps` are those of a declared path that ends with a name, and one more, such as an ID. */
const isListOf = (declared: readonly string[], steps: readonly string[]): boolean =>
  declared.length === steps.length - 1 &&
  !declared.at(-1)!.startsWith('{') &&
  declared.every((step, at) => fits(step, steps[at]));

/** Characters to change in the one literal step that differs; Infinity if these are too many, or more steps differ. */
function editsOf(declared: readonly string[], steps: readonly string[]): number {
  if (declared.length !== steps.length) return Infinity;
  const wrong = declared.flatMap((step, at) => (fits(step, steps[at]) ? [] : [at]));
  if (wrong.length === 0) return 0;
  const [step, sent] = [declared[wrong[0]!]!, steps[wrong[0]!]!];
  if (wrong.length > 1 || step.startsWith('{') || sent.length > MOST_STEP) return Infinity;
  const most = STEP_SHARE * Math.max(step.length, sent.length);
  const edits = editDistance(sent, step, most);
  return edits <= most ? edits : Infinity;
}
