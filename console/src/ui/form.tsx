import { useBlocker } from '@tanstack/react-router';
import { Terminal } from 'lucide-react';
import { use, useEffect, type ReactNode } from 'react';
import { useMayChange } from '../api/session.ts';
import { Button } from './button.tsx';
import { Discard, SheetContext } from './dialogs.tsx';
import { Failed } from './parts.tsx';
import { useSay } from './toasts.tsx';

interface FormProps {
  /** The submission: see `useChange`. */
  change: { isPending: boolean; isSuccess: boolean; error: Error | null; curl: () => Promise<string> };
  onSubmit: (form: HTMLFormElement) => void;
  /** Text of the button that submits. */
  submit: string;
  /** Whether leaving would lose input. */
  isDirty: boolean;
  /** The caller validates, not the browser. */
  noValidate?: boolean;
  /** Whether the form cannot be submitted yet. */
  incomplete?: boolean;
  /** Whether the caller shows the error itself. */
  showsError?: boolean;
  /** Shown in the footer before the buttons. */
  footer?: ReactNode;
  children: ReactNode;
}

/**
 * A form in a sheet or on a screen. The footer stays visible and offers the request as a curl command. Warns before
 * input is lost. Disabled in a read-only session.
 */
export function Form(props: FormProps) {
  const { change, onSubmit, submit, isDirty, noValidate = false, incomplete = false, showsError = false } = props;
  const sheet = use(SheetContext);
  const mayChange = useMayChange();
  const mayLose = isDirty && !change.isPending && !(sheet !== null && change.isSuccess);
  useEffect(() => sheet?.setDirty(mayLose), [sheet, mayLose]);
  const { error } = change;
  return (
    <form
      className="flex flex-col gap-3"
      noValidate={noValidate}
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit(event.currentTarget);
      }}
    >
      <fieldset disabled={!mayChange} className="flex min-w-0 flex-col gap-3">
        {props.children}
      </fieldset>
      {error !== null && !showsError && <Failed error={error} />}
      <footer
        className={
          sheet === null
            ? 'flex flex-wrap items-center gap-2'
            : 'sticky -bottom-4 z-10 -mx-4 -mb-4 flex flex-wrap items-center justify-end gap-2 border-t border-line bg-raised px-4 py-3'
        }
      >
        {props.footer}
        {mayChange && <CopyCurl curl={change.curl} className={sheet === null ? 'order-last' : 'mr-auto'} />}
        {sheet !== null && <Button onClick={sheet.close}>{mayChange ? 'Cancel' : 'Close'}</Button>}
        {mayChange && (
          <Button type="submit" look="primary" disabled={change.isPending || incomplete}>
            {submit}
          </Button>
        )}
      </footer>
      <Leaving mayLose={mayLose} />
    </form>
  );
}

/** Copies the request that the form would send. */
function CopyCurl({ curl, className }: { curl: () => Promise<string>; className: string }) {
  const say = useSay();
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(await curl());
      say('The curl command is copied.');
    } catch (error) {
      say(`The command could not be copied: ${(error as Error).message}`, 'problem');
    }
  };
  return (
    <Button look="bare" className={className} onClick={() => void copy()}>
      <Terminal size={14} aria-hidden /> Copy as curl
    </Button>
  );
}

/** Asks before navigation discards unsaved input; the browser asks before leaving the console. */
function Leaving({ mayLose }: { mayLose: boolean }) {
  const blocked = useBlocker({ shouldBlockFn: () => mayLose, enableBeforeUnload: mayLose, withResolver: true });
  return (
    <Discard
      open={blocked.status === 'blocked'}
      onKeep={() => blocked.reset?.()}
      onDiscard={() => blocked.proceed?.()}
    />
  );
}
