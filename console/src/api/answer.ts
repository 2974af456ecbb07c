/** An error of the API, with its own message. */
export class Problem extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.name = 'Problem';
    this.status = status;
  }
}

interface Answered<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** The body of a successful answer. Throws a `Problem` with the API's message and hint otherwise, or if the server does not respond. */
export async function answer<T>(request: Promise<Answered<T>>): Promise<T> {
  const { data, error, response } = await request.catch((): never => {
    throw new Problem(0, 'The server does not respond.');
  });
  if (response.ok) return data as T;
  const { error: said, hint } = Object(error) as { error?: unknown; hint?: unknown };
  const text = typeof said === 'string' ? said : `The server answered ${response.status}.`;
  throw new Problem(response.status, typeof hint === 'string' ? `${text} ${hint}` : text);
}

/** A message about one item of a bulk call. */
export interface Issue {
  severity: 'error' | 'warning';
  message: string;
}

/** The answer of a bulk call with one item. Throws a `Problem` if the item was refused. */
export async function one<T extends { issues: Issue[] }>(request: Promise<Answered<T>>): Promise<T> {
  const body = await answer(request);
  const refused = body.issues.find(({ severity }) => severity === 'error');
  if (refused) throw new Problem(422, refused.message);
  return body;
}

const PAGE = 100;

/** Reads a whole bounded list, page by page, up to `most` items. Unbounded lists use a `PagedTable`. */
export async function all<T>(
  page: (query: { limit: number; skip: number }) => Promise<Answered<T[]>>,
  most = Infinity,
): Promise<T[]> {
  const found: T[] = [];
  while (found.length < most) {
    const next = await answer(page({ limit: PAGE, skip: found.length }));
    found.push(...next);
    if (next.length < PAGE) break;
  }
  return found;
}
