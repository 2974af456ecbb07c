import { CommandError } from '../command-error.ts';

/** The source refuses a request, or does not answer it as often as it is tried. */
export class SourceRefusal extends Error {
  /** 0: no answer. */
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

/** How a refusal ends a command that no other request could help: a redirect, or a key that is refused. Null: it does not. */
export function fatalRefusal({ status, message }: SourceRefusal): CommandError | null {
  if (status >= 300 && status < 400)
    return new CommandError(
      `The source redirects (${message}), and the key is sent nowhere else: --from must be the address of the API itself.`,
    );
  return status === 401 || status === 403
    ? new CommandError(`The source refuses the key (${message}): --from-key must be an admin key there.`)
    : null;
}
