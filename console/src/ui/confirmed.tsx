import { useState, type ComponentProps, type ReactNode } from 'react';
import { useMayChange } from '../api/session.ts';
import { Button } from './button.tsx';
import { Confirm } from './dialogs.tsx';

type ConfirmedButtonProps = Omit<ComponentProps<typeof Button>, 'title' | 'about'> & {
  /** The question, and the button that confirms it. */
  title: string;
  action: string;
  /** Describes the consequences. */
  about: ReactNode;
  change: {
    isPending: boolean;
    mutate: (input: undefined, options: { onSettled: () => void }) => void;
  };
};

/** A button that asks before its action. Hidden in a read-only session. */
export function ConfirmedButton({ title, action, about, change, ...button }: ConfirmedButtonProps) {
  const [asked, setAsked] = useState(false);
  if (!useMayChange()) return null;
  return (
    <>
      <Button {...button} disabled={change.isPending} onClick={() => setAsked(true)} />
      <Confirm
        open={asked}
        onClose={() => setAsked(false)}
        title={title}
        action={action}
        busy={change.isPending}
        onConfirm={() => change.mutate(undefined, { onSettled: () => setAsked(false) })}
      >
        {about}
      </Confirm>
    </>
  );
}
