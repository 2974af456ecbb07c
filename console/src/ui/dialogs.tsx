import { AlertDialog } from '@base-ui/react/alert-dialog';
import { Dialog } from '@base-ui/react/dialog';
import { X } from 'lucide-react';
import { createContext, useEffect, useMemo, useRef, useState, type ReactNode } from 'react';
import { Button } from './button.tsx';

const BACKDROP = 'fixed inset-0 z-30 bg-black/40';
const POPUP =
  'fixed z-40 flex flex-col bg-raised shadow-pop outline-none inset-x-0 bottom-0 max-h-[92dvh] rounded-t-xl ' +
  'sm:inset-auto sm:top-1/2 sm:left-1/2 sm:max-h-[86dvh] sm:-translate-x-1/2 sm:-translate-y-1/2 sm:rounded-xl';
const FIELDS = 'input:not([disabled]), select:not([disabled]), textarea:not([disabled])';

/** The sheet's functions for the form inside it. */
export const SheetContext = createContext<{
  /** Closes the sheet, after a question if input would be lost. */
  close: () => void;
  setDirty: (isDirty: boolean) => void;
} | null>(null);

interface SheetProps {
  open: boolean;
  onClose: () => void;
  title: string;
  children: ReactNode;
  wide?: boolean;
}

/** A dialog; on a phone, a sheet at the bottom. The first field of its form has the focus. */
export function Sheet({ open, onClose, title, children, wide = false }: SheetProps) {
  const popup = useRef<HTMLDivElement>(null);
  const dirty = useRef(false);
  const [asked, setAsked] = useState(false);
  const latest = useRef(onClose);
  useEffect(() => {
    latest.current = onClose;
  });
  const context = useMemo(
    () => ({
      close: () => (dirty.current ? setAsked(true) : latest.current()),
      setDirty: (isDirty: boolean) => {
        dirty.current = isDirty;
      },
    }),
    [],
  );
  return (
    <Dialog.Root open={open} onOpenChange={(next) => !next && context.close()}>
      <Dialog.Portal>
        <Dialog.Backdrop className={BACKDROP} />
        <Dialog.Popup
          ref={popup}
          initialFocus={() => popup.current?.querySelector<HTMLElement>(FIELDS) ?? true}
          className={`${POPUP} ${wide ? 'sm:w-[44rem]' : 'sm:w-[32rem]'}`}
        >
          <header className="flex items-center justify-between border-b border-line px-4 py-2.5">
            <Dialog.Title className="text-base font-semibold">{title}</Dialog.Title>
            <Dialog.Close aria-label="Close" className="rounded p-1 text-muted hover:bg-hover pointer-coarse:p-3.5">
              <X size={16} />
            </Dialog.Close>
          </header>
          <div className="overflow-y-auto p-4">
            <SheetContext value={context}>{children}</SheetContext>
          </div>
        </Dialog.Popup>
      </Dialog.Portal>
      <Discard
        open={asked}
        onKeep={() => setAsked(false)}
        onDiscard={() => {
          setAsked(false);
          dirty.current = false;
          onClose();
        }}
      />
    </Dialog.Root>
  );
}

interface DiscardProps {
  open: boolean;
  onKeep: () => void;
  onDiscard: () => void;
  title?: string;
  action?: string;
  cancel?: string;
  children?: ReactNode;
}

/** Asks before unsaved input is lost. */
export const Discard = ({
  open,
  onKeep,
  onDiscard,
  title = 'Discard your changes?',
  action = 'Discard',
  cancel = 'Keep editing',
  children = 'What you filled in is not saved.',
}: DiscardProps) => (
  <Confirm open={open} onClose={onKeep} onConfirm={onDiscard} title={title} action={action} cancel={cancel}>
    {children}
  </Confirm>
);

interface ConfirmProps {
  open: boolean;
  onClose: () => void;
  title: string;
  children: ReactNode;
  action: string;
  cancel?: string;
  onConfirm: () => void;
  busy?: boolean;
}

/** Asks before an important change. */
export function Confirm({
  open,
  onClose,
  title,
  children,
  action,
  cancel = 'Cancel',
  onConfirm,
  busy = false,
}: ConfirmProps) {
  return (
    <AlertDialog.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className={BACKDROP} />
        <AlertDialog.Popup className={`${POPUP} gap-2 p-4 sm:w-[26rem]`}>
          <AlertDialog.Title className="text-base font-semibold">{title}</AlertDialog.Title>
          <AlertDialog.Description render={<div />} className="text-muted">
            {children}
          </AlertDialog.Description>
          <div className="mt-2 flex justify-end gap-2">
            <AlertDialog.Close render={<Button>{cancel}</Button>} />
            <Button look="danger" disabled={busy} onClick={onConfirm}>
              {action}
            </Button>
          </div>
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}
