import { AppError } from '../errors.ts';
import type { Operation } from '../operations/operation.ts';
import { refusedAfterClose } from './respond.ts';
import { routePattern } from './route.ts';
import type { HttpRequest, HttpResponse, TemplatedApp } from './uws.ts';

export type Handler = (res: HttpResponse, req: HttpRequest) => void;

/** Names of uWS's registration functions, by method. */
const VERBS = {
  GET: 'get',
  HEAD: 'head',
  POST: 'post',
  PUT: 'put',
  PATCH: 'patch',
  DELETE: 'del',
} as const;
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
    {
      named,
      refuse,
      preflight,
    }: {
      /** Lets a handler answer only requests that name this server. */
      named: (handler: Handler) => Handler;
      refuse: (error: AppError) => Handler;
      /** Answers OPTIONS for a path with these methods. */
      preflight: (methods: string, notAllowed: AppError) => Handler;
    },
  ): void {
    const guarded = (handler: Handler): Handler => unlessClosing(named(handler));
    for (const [pattern, verbs] of this.paths) {
      const allow = [...verbs.keys()].sort().join(', ');
      const error = new AppError('method_not_allowed', `The method is not allowed here, only ${allow}`, {
        headers: { Allow: allow },
      });
      const notAllowed = refuse(error);
      app.options(pattern, guarded(preflight(allow, error)));
      for (const [verb, name] of Object.entries(VERBS))
        app[name](pattern, guarded(verbs.get(verb as Verb) ?? notAllowed));
      app.any(pattern, guarded(notAllowed));
    }
    app.any('/*', guarded(refuse(new AppError('unknown_path', 'There is no such path'))));
  }
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
