import type { Operation } from '../operations/operation.ts';

/** The surface that another port of this installation serves. */
export interface OtherPort {
  operations: readonly Operation[];
  /** 0: one that the system chooses. */
  port: number;
}

/** Whether one step of a path fits a step of a declared one. */
const fits = (declared: string, step: string | undefined): boolean =>
  declared.startsWith('{') ? step !== '' && step !== undefined : declared === step;

/**
 * The hint for a request that would have been right on the other port; `undefined` if it is not an operation there
 * either. It says nothing that the OpenAPI documents do not say, but for the port.
 */
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
    const asked = method === 'head' ? 'get' : method;
    const steps = path.split('/');
    const exists = declared.some(
      (each) =>
        each.method === asked &&
        each.steps.length === steps.length &&
        each.steps.every((step, index) => fits(step, steps[index])),
    );
    return exists ? hint : undefined;
  };
}
