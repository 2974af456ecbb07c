import { Dialog } from '@base-ui/react/dialog';
import { Navigation } from './navigation.tsx';

/** The navigation on a narrow screen. */
export const Drawer = ({ open, onClose }: { open: boolean; onClose: () => void }) => (
  <Dialog.Root open={open} onOpenChange={(next) => !next && onClose()}>
    <Dialog.Portal>
      <Dialog.Backdrop className="fixed inset-0 z-30 bg-black/40" />
      <Dialog.Popup
        aria-label="Screens"
        className="fixed inset-y-0 left-0 z-40 w-60 overflow-y-auto bg-surface shadow-pop outline-none"
      >
        <Navigation onChosen={onClose} />
      </Dialog.Popup>
    </Dialog.Portal>
  </Dialog.Root>
);
