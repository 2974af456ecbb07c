import { useBlocker } from '@tanstack/react-router';
import { Terminal } from 'lucide-react';
import { use, useEffect, type ReactNode } from 'react';
import { useMayChange } from '../api/session.ts';
import { Button } from './button.tsx';
import { Discard, SheetContext } from './dialogs.tsx';
import { Failed } from './parts.tsx';
import { useSay } from './toasts.tsx';

interface FormProps {
  /** What submitting does: see `useChange`. */
  change: { isPending: boolean; isSuccess: boolean; error: Error | null; curl: () => Promise<string> };
  onSubmit: (form: HTMLFormElement) => void;
  /** Text of the button that submits. */
  submit: string;
  /** Whether something was filled in that leaving would lose. */
  isDirty: boolean;
  /** The caller checks the inputs, not the browser. */
  noValidate?: boolean;
  /** Whether the form cannot be submitted yet. */
  incomplete?: boolean;
  /** The caller shows the error beside its cause. */
  showsError?: boolean;
  /** What stands in the footer, before the buttons. */
  footer?: ReactNode;
  children: ReactNode;
}

/**
 * A form, in a sheet or on a screen. Its footer stays in view, with the request as a curl command. It warns before input is lost. In a
 * read-only session its inputs are disabled, and it has no button to submit.
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

/** Asks before another screen takes the place of unsaved input; the browser asks before it leaves the console. */
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
