// Written by tools/generate_web_types.py from pellucid/instance/protocol. Do not edit: run it again.
// Shapes, spacings, voxels and boxes are in (z, y, x) order; positions in the world in (x, y, z).

export const VERSION = 4;
export const MAX_MESSAGE_BYTES = 262144;
export const MAX_EDGE = 8192;
export const MAX_UPLOAD_BYTES = 268435456;

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type Mode = "composite" | "max" | "min" | "mean" | "isosurface";
export type ShadingName = "none" | "gradient" | "shadow" | "occlusion" | "full" | "cinematic" | "user";
export type MeasureKind = "distance" | "angle" | "polyline" | "area" | "box" | "sphere" | "note";
export type SlabProjection = "mean" | "max" | "min";
export type SliceAxis = "z" | "y" | "x" | "oblique";
export type SliceColors = "grey" | "transfer";
export type Capability = "view" | "control" | "own";
export type Encoding = "jpeg" | "png" | "h264";
export type View = "main" | "other";
export type Arrangement = "beside" | "over";
export type Axis = "z" | "y" | "x";
export type ExportFormat = "tiff" | "nrrd" | "zarr";
export type TaskState = "running" | "finished" | "stopped";
export type WorkerState = "starting" | "loading" | "compiling" | "ready" | "lost" | "stopped";
export type EntryKind = "folder" | "volume" | "points" | "mesh";
export type PreviewPosition = "projection" | "sinogram" | "slice" | "before";
export type PreviewEncoding = "jpeg" | "png" | "grey16";
export type AxisOrigin = "guessed" | "found" | "chosen";
export type ComparedStep = "nothing" | "rings" | "phase" | "filter";
export type RegionName = "material" | "air";
export type DenoisingPreset = "fast" | "spring8";
export type DenoisedSide = "before" | "after";

/** The first message: the viewer is to prove that it holds the key of this page's session. nonce: random. address:
 * of the page, as it sees itself. */
export interface Prove {
  readonly session: string;
  readonly nonce: string;
  readonly address?: string;
  readonly type: "prove";
}

/** The second message, once the viewer has proved itself: the page's own proof, the version spoken, the name of the
 * user, the pixels there are, the encodings that can be shown. */
export interface Hello {
  readonly version: number;
  readonly width: number;
  readonly height: number;
  readonly proof?: string;
  readonly name?: string;
  readonly encodings?: readonly Encoding[];
  readonly type: "hello";
}

/** The image's place in the page has another size now, in pixels. */
export interface Resize {
  readonly width: number;
  readonly height: number;
  readonly type: "resize";
}

/** A camera in world units, axes (x, y, z).
 * field_of_view_deg: vertical angle of a perspective camera; None for an orthographic camera of `height` world
 * units. */
export interface Camera {
  readonly position: readonly [number, number, number];
  readonly target: readonly [number, number, number];
  readonly up: readonly [number, number, number];
  readonly field_of_view_deg: number | null;
  readonly height: number;
}

/** Look from here; the latest wins. is_moving: more will follow, so a small image soon beats a large one.
 * sent_at_ms comes back in the header of the first frame that shows it. */
export interface SetCamera {
  readonly camera: Camera;
  readonly is_moving?: boolean;
  readonly sent_at_ms?: number;
  readonly type: "set_camera";
}

/** One place of the scene, and what stands there from now on.
 * path: names and numbers from the scene inwards, such as ["volumes", 0, "transfer", "value_range"]. A number one past
 * the end of a list adds to it; value null takes an element of a list away. */
export interface Change {
  readonly path: readonly (string | number)[];
  readonly value: Json;
}

/** Change the scene, all of it or nothing, based on the revision given.
 * is_moving: more of the same will follow (a slider is held): small images, and one step of undo for all of them. */
export interface Patch {
  readonly revision: number;
  readonly changes: readonly Change[];
  readonly view?: View;
  readonly is_moving?: boolean;
  readonly request?: string;
  readonly type: "patch";
}

/** Back to the scene before the last change; the camera stays. */
export interface Undo {
  readonly request?: string;
  readonly type: "undo";
}

/** Forward again, to what was undone. */
export interface Redo {
  readonly request?: string;
  readonly type: "redo";
}

/** Begin to compare: the scene as it is now becomes the other one, beside it; or end it. */
export interface Compare {
  readonly is_on: boolean;
  readonly request?: string;
  readonly type: "compare";
}

/** Put the images of the two scenes that are compared side by side, or one over the other. */
export interface Arrange {
  readonly arrangement: Arrangement;
  readonly type: "arrange";
}

/** Show the three slices through a voxel of a layer; None ends it. */
export interface Slices {
  readonly voxel: readonly [number, number, number] | null;
  readonly layer?: number;
  readonly type: "slices";
}

/** A slice as a page has room for it. region: left, top, right and bottom of what is in sight, as fractions of the
 * slice; width, height: in pixels. oblique: the first of the scene's `slices`. view: of which scene, where two are
 * compared; the slice of the other one lies at the same place of the world, and region is of the scene's slice. */
export interface SliceView {
  readonly axis: SliceAxis;
  readonly width: number;
  readonly height: number;
  readonly region: readonly [number, number, number, number];
  readonly view: View;
}

/** The slices that this page shows while there is a cross-hair; their images follow, and again whenever what they
 * show changes. */
export interface ShowSlices {
  readonly views: readonly SliceView[];
  readonly type: "show_slices";
}

/** What is at this place of the image? x from the left, y from the top, 0 to 1. Only the latest is answered. */
export interface Probe {
  readonly x: number;
  readonly y: number;
  readonly view?: View;
  readonly request?: string;
  readonly type: "probe";
}

/** What is at this place of a slice that is shown? x, y: fractions of the slice. Only the latest is answered. */
export interface ProbeSlice {
  readonly axis: SliceAxis;
  readonly x: number;
  readonly y: number;
  readonly request?: string;
  readonly type: "probe_slice";
}

/** A frame was painted. Without it, no more than a few frames are sent. */
export interface Acknowledge {
  readonly number: number;
  readonly decode_ms?: number;
  readonly paint_ms?: number;
  readonly type: "acknowledge";
}

/** The image of a slice was painted. */
export interface AcknowledgeSlice {
  readonly axis: SliceAxis;
  readonly number: number;
  readonly view?: View;
  readonly type: "acknowledge_slice";
}

/** The video decoder lost its way: send a key frame next. */
export interface RequestKeyFrame {
  readonly type: "key_frame";
}

/** Request the controls. An owner gets them at once, and so does any client while they are free. */
export interface RequestControls {
  readonly type: "request_controls";
}

/** Hand the controls to a client, or release them. */
export interface HandOverControls {
  readonly client?: string | null;
  readonly type: "hand_over_controls";
}

/** The viewer is in use: the idle timeout starts again. */
export interface KeepAlive {
  readonly type: "keep_alive";
}

/** Stop a task. */
export interface CancelTask {
  readonly task: string;
  readonly type: "cancel_task";
}

/** What a user says of a scan; everything that is empty is taken from the file.
 * projections, flats, darks: the name of a dataset in the file, the path of another file, or some of the file's own
 * frames as `frames:0:10`. flats, darks: also `none`, where the projections are corrected already; or several in
 * the order of time with `;` between them, the first taken before the projections and the last after them.
 * angles: `0:180` in degrees, evenly spaced with the end left out; `0:180:inclusive`; or a dataset or a file.
 * is_repaired: whether dead and hot pixels of the detector are replaced by their neighbours. */
export interface ScanOptions {
  readonly projections: string;
  readonly flats: string;
  readonly darks: string;
  readonly angles: string;
  readonly pixel_size_um: number | null;
  readonly is_repaired: boolean;
}

/** Phase retrieval for one material. energy_kev: of the beam. distance_mm: from sample to detector. pixel_size_um:
 * at the sample. delta_over_beta: of the sample's refractive index.
 * >>> round(Paganin(energy_kev=20, distance_mm=100, pixel_size_um=1.0, delta_over_beta=500).radius_px, 2)
 * 15.71 */
export interface Paganin {
  readonly energy_kev: number;
  readonly distance_mm: number;
  readonly pixel_size_um: number;
  readonly delta_over_beta: number;
}

/** How rings are removed.
 * snr: how far a column must stand out to count as a ring. large_size, small_size: number of columns in the medians of
 * algorithms 5 and 6, and of algorithm 3; None for a share of the detector, because wide medians erode small features.
 * drop: share of the views left out when the brightness of a column is judged. level, sigma: of the wavelet method.
 * strength: of the regularised method. */
export interface RingSettings {
  readonly method: string;
  readonly snr: number;
  readonly large_size: number | null;
  readonly small_size: number | null;
  readonly drop: number;
  readonly level: number;
  readonly sigma: number;
  readonly strength: number;
}

/** All settings of a reconstruction, with sensible defaults.
 * center: column of the rotation axis in the middle row, "auto", or the name of a search method. tilt: columns that
 * the axis moves from one row to the next; "auto": measured; "when-clear": measured together with the center, and
 * corrected if it is significant. is_offset: a full turn with the axis near the edge of the detector, whose opposite
 * views are joined. roll_deg: rotation of the detector against the axis, or "auto"; projections are rotated first.
 * binning: detector pixels along the edge of a voxel. phase: retrieved from whole projections first, or None. zingers:
 * a pixel that attenuates less than its neighbours by this amount is replaced; 0 for none. air: columns at both ends
 * that show only air, 0 for none. rings: how rings are removed. filter, padding: of direct and gridding. iterations:
 * of sirt and cgls, 0 for the default of the method. is_nonnegative: of sirt. is_circle: whether pixels that not all
 * views see stay 0. */
export interface Recipe {
  readonly center: number | string;
  readonly tilt: number | string;
  readonly is_offset: boolean;
  readonly roll_deg: number | string;
  readonly binning: number;
  readonly phase: Paganin | null;
  readonly zingers: number;
  readonly air: number;
  readonly rings: RingSettings;
  readonly method: string;
  readonly filter: string;
  readonly padding: string;
  readonly iterations: number;
  readonly is_nonnegative: boolean;
  readonly is_circle: boolean;
}

/** All settings of a user for a scan: those of ReconstructionRequest, and those of the previews.
 * row, view: of the detector. output: where the volume goes; may be empty as yet. rows, crop: as in
 * ReconstructionRequest. */
export interface ReconstructionDraft {
  readonly options: ScanOptions;
  readonly recipe: Recipe;
  readonly axis: AxisOrigin;
  readonly row: number;
  readonly view: number;
  readonly compare: ComparedStep;
  readonly output: string;
  readonly is_replaced: boolean;
  readonly is_watched: boolean;
  readonly rows: readonly [number, number] | null;
  readonly crop: readonly [readonly [number, number], readonly [number, number]] | null;
}

/** Keep what is chosen for the reconstruction of a scan, for a page that is opened later.
 * draft: None if too little is known of the scan. is_open: whether the page shows it. */
export interface SaveDraft {
  readonly scan: string;
  readonly draft: ReconstructionDraft | null;
  readonly is_open: boolean;
  readonly type: "save_draft";
}

/** The answer to Prove: the keyed hash (HMAC-SHA256 under the session's key, in hex) of "server", the page's nonce,
 * this nonce and the page's address, with a space between. The page's own proof begins with "page" instead. */
export interface Proof {
  readonly nonce: string;
  readonly proof: string;
  readonly type: "proof";
}

/** The answer to Hello of a page that was opened before a restart: it goes on at this link. */
export interface Moved {
  readonly url: string;
  readonly type: "moved";
}

/** What there is to choose from. color_maps: colours (red, green, blue, 0 to 1) at equal distances, by name. */
export interface Choices {
  readonly modes: readonly string[];
  readonly shadings: readonly ShadingName[];
  readonly color_maps: { readonly [name: string]: readonly (readonly [number, number, number])[] };
  readonly export_formats: readonly ExportFormat[];
}

/** What the instance accepts, for a page to stay within. */
export interface ClientLimits {
  readonly max_edge: number;
  readonly max_upload_bytes: number;
  readonly max_clients: number;
}

/** The answer to Hello: everything there is to know; State, Layers, Shadings, Controls and Idle follow with more.
 * client: the id of this page. token: for its HTTP requests from now on. roots: where the file browser may look;
 * empty where the capability is not own. */
export interface Welcome {
  readonly client: string;
  readonly capability: Capability;
  readonly product: string;
  readonly device: string;
  readonly choices: Choices;
  readonly limits: ClientLimits;
  readonly roots: readonly string[];
  readonly clock_at_ms: number;
  readonly token: string;
  readonly version: number;
  readonly type: "welcome";
}

/** A second axis of a transfer function: the gradient changes the opacity.
 * factors: (position, factor), linear in between, constant outside; positions run from 0 to 1 over `gradient_range`,
 * the change of the value per voxel (along its shortest edge). A factor multiplies the density: half of the material
 * with a factor of 0.5, none with 0. It is a product of two curves, not a table over both axes, because users can draw
 * and read two curves, and boundaries stay visible while the inside becomes transparent.
 * >>> Edges(((0.0, 0.0), (1.0, 1.0)), (0.0, 10.0)).table()[[0, -1]].tolist()
 * [0.0, 1.0] */
export interface Edges {
  readonly factors: readonly (readonly [number, number])[];
  readonly gradient_range: readonly [number, number];
}

/** Colour and opacity between control points, linear in between, constant outside.
 * colors: (position, (red, green, blue)); opacities: (position, opacity). Positions run from 0 to 1 over
 * `value_range`; colours and opacities from 0 to 1. Opacity is the share of the light that one voxel of material
 * absorbs. gamma: changes the mapping from value to position. edges: how the gradient changes the opacity.
 * is_preintegrated: whether a step uses all values between its two ends instead of the value in its middle; then no
 * narrow peak of the opacity is missed, and it takes about twice the time. */
export interface TransferFunction {
  readonly colors: readonly (readonly [number, readonly [number, number, number]])[];
  readonly opacities: readonly (readonly [number, number])[];
  readonly value_range: readonly [number, number];
  readonly gamma: number;
  readonly edges: Edges | null;
  readonly is_preintegrated: boolean;
}

/** The surface where the values pass `value`. */
export interface Isosurface {
  readonly value: number;
  readonly color: readonly [number, number, number];
  readonly opacity: number;
}

/** A half-open region of voxels in (z, y, x) order: start is inside, stop is not.
 * >>> box = Box((0, 0, 0), (2, 3, 4))
 * >>> box.shape, box.size
 * ((2, 3, 4), 24) */
export interface Box {
  readonly start: readonly [number, number, number];
  readonly stop: readonly [number, number, number];
}

/** Where a volume stands: scaled, then turned about the world's x, y and z axes (degrees), then moved. */
export interface Transform {
  readonly scale: readonly [number, number, number];
  readonly rotation_deg: readonly [number, number, number];
  readonly translation: readonly [number, number, number];
}

/** How one label is drawn. color: None for the automatic colour; opacity: None for the opacity of all labels. name:
 * of the object, for the list and the legend. */
export interface LabelColor {
  readonly label: number;
  readonly color: readonly [number, number, number] | null;
  readonly opacity: number | null;
  readonly name: string;
  readonly is_visible: boolean;
}

/** One colour for each label, never mixed between labels.
 * opacity: of one voxel of any label except 0, which is not drawn. colors: exceptions; label 0 is drawn too if it has
 * an opacity here. isolated: where it is not empty, only these labels are drawn, hidden ones among them too. is_mask:
 * instead of the labels, values of other volumes are drawn where labels would be, and nowhere else; 0 is such a label
 * too where it is isolated. */
export interface Labels {
  readonly opacity: number;
  readonly colors: readonly LabelColor[];
  readonly isolated: readonly number[];
  readonly is_mask: boolean;
}

/** How slices across one axis are shown. window: the values that are black and white; None: those that matter in the
 * volume. colors: grey, or those of the transfer function, which has its own range of values. thickness: of so many
 * slices the mean, the largest or the smallest value is shown, of an even number one more before it than behind it;
 * labels are those of the slice itself. */
export interface SliceOptions {
  readonly window: readonly [number, number] | null;
  readonly colors: SliceColors;
  readonly thickness: number;
  readonly projection: SlabProjection;
}

/** A volume to draw. source: its location; of a series, the time step of the scene. clip: only these voxels (z, y,
 * x).
 * labels: its voxels are whole numbers that name objects; they are drawn in these colours instead of the transfer
 * function, unlit or lit at their boundaries. edit: the state of labels that were painted, 0 as they were opened.
 * user_shading: the hash of a custom shading that was added to the
 * renderer; parameters: (name, value) pairs for it. is_visible: whether it is drawn; every layer has this.
 * slice_options: how a viewer shows its slices across z, y and x. unit: of lengths in the world; "" where it is that
 * of the file. A spacing that a file states wrongly is corrected by the scale of the transform. */
export interface VolumeLayer {
  readonly source: string;
  readonly transfer: TransferFunction;
  readonly mode: Mode;
  readonly shading: ShadingName;
  readonly isosurfaces: readonly Isosurface[];
  readonly clip: Box | null;
  readonly transform: Transform;
  readonly user_shading: string;
  readonly parameters: readonly (readonly [string, number])[];
  readonly labels: Labels | null;
  readonly is_visible: boolean;
  readonly edit: number;
  readonly slice_options: readonly [SliceOptions, SliceOptions, SliceOptions];
  readonly unit: string;
}

/** Where light comes from. direction: from the light into the scene, in the world; None: the light moves with the
 * camera.
 * camera_direction: the same to the right, upwards and towards the viewer, for a light that moves with the camera; by
 * default it comes from above left, and (0, 0, -1) is a headlight. */
export interface Light {
  readonly direction: readonly [number, number, number] | null;
  readonly ambient: number;
  readonly diffuse: number;
  readonly specular: number;
  readonly shininess: number;
  readonly camera_direction: readonly [number, number, number];
}

/** Cuts away what lies before it: every point where normal · point < offset, in world units. */
export interface ClipPlane {
  readonly normal: readonly [number, number, number];
  readonly offset: number;
}

/** Points to draw as spheres. source: a file, or the name of Points in memory.
 * radius_scale: radius in world units per unit of the value; points without a positive radius are not drawn. The
 * transfer function gives the colour; a value that it makes transparent is not drawn, all others are opaque. */
export interface PointsLayer {
  readonly source: string;
  readonly transfer: TransferFunction;
  readonly radius_scale: number;
  readonly is_lit: boolean;
  readonly transform: Transform;
  readonly is_visible: boolean;
}

/** A mesh to draw; both sides look the same. source: a file, or the name of a Mesh in memory.
 * opacity: of one surface; 1 hides everything behind it. Of translucent surfaces, the nearest eight along a ray are
 * drawn. */
export interface MeshLayer {
  readonly source: string;
  readonly color: readonly [number, number, number];
  readonly is_lit: boolean;
  readonly transform: Transform;
  readonly opacity: number;
  readonly is_visible: boolean;
}

/** A plane through a volume, drawn where it cuts the volume. point, normal: of the plane, (x, y, z) in world units.
 * opacity: 1 hides everything behind it. is_solid: whether values that the transfer function makes transparent are
 * drawn too; otherwise the plane has holes there. labels: as in VolumeLayer; a label is as opaque as one voxel of it.
 * Of slices in the same plane, the last one is on top. slice_options: how a viewer shows it beside the 3D image. */
export interface SliceLayer {
  readonly source: string;
  readonly point: readonly [number, number, number];
  readonly normal: readonly [number, number, number];
  readonly transfer: TransferFunction;
  readonly opacity: number;
  readonly is_solid: boolean;
  readonly labels: Labels | null;
  readonly clip: Box | null;
  readonly transform: Transform;
  readonly is_visible: boolean;
  readonly slice_options: SliceOptions;
}

/** What is drawn on the image. unit: the unit of the world, such as "um", for the scale bar. is_legend: the names of
 * labels that have one, with their colours. is_color_bar: the colours of the first volume and their values;
 * value_unit: of these. text_scale: size of all letters, over that which suits the image.
 * In perspective the bar is correct at the depth of the camera's target. */
export interface Annotations {
  readonly is_scale_bar: boolean;
  readonly is_axes: boolean;
  readonly unit: string;
  readonly is_legend: boolean;
  readonly is_color_bar: boolean;
  readonly value_unit: string;
  readonly text_scale: number;
}

/** Something measured, or a note, at points (x, y, z) of the world.
 * angle: at the second of three points. polyline, area: along, or inside, any number of points. box: opposite corners,
 * along the axes of the volume. sphere: its centre, and a point on it. layer: the volume whose values are measured. */
export interface Measure {
  readonly kind: MeasureKind;
  readonly points: readonly (readonly [number, number, number])[];
  readonly name: string;
  readonly text: string;
  readonly layer: number;
  readonly is_visible: boolean;
}

/** How light is followed where a volume's shading is cinematic. samples: paths of every pixel.
 * environment: studio, sky or overcast, or a file (.hdr, .exr) with all directions, its poles up and down; strength:
 * of its light; turn_deg: turned about the vertical. lamp: strength of the scene's light, by its direction; lamp_deg:
 * the angle that it is seen under, which makes shadows soft. surface: how far gradients make glossy surfaces, from 0
 * (a cloud) to 1; roughness, coat: of these. anisotropy: whether clouds scatter light onwards (up to 1) or back (down
 * to -1). scatterings: of one path, at the most. aperture: diameter of the lens as a share of the distance to the
 * target; what lies elsewhere is blurred. focus: distance that is sharp, over that of the target. exposure: brightness
 * of the image. is_denoised: whether what noise is left is filtered. seed: of chance; the same gives the same image. */
export interface Cinematic {
  readonly samples: number;
  readonly environment: string;
  readonly strength: number;
  readonly turn_deg: number;
  readonly lamp: number;
  readonly lamp_deg: number;
  readonly surface: number;
  readonly roughness: number;
  readonly coat: number;
  readonly anisotropy: number;
  readonly scatterings: number;
  readonly aperture: number;
  readonly focus: number;
  readonly exposure: number;
  readonly is_denoised: boolean;
  readonly seed: number;
}

/** Everything that is drawn in an image.
 * step: distance between samples in voxels. is_jittered: whether each ray starts at its own random fraction of a step,
 * which turns the banding of coarse sampling into fine noise. background: red, green, blue and opacity. time: time
 * step of every source that is a series; the nearest one is drawn. annotations: what is drawn on the image. measures:
 * distances, regions and notes, which a viewer shows over the image. cinematic: how paths of light are followed, where
 * the shading of a volume is cinematic. */
export interface Scene {
  readonly volumes: readonly VolumeLayer[];
  readonly camera: Camera;
  readonly light: Light;
  readonly planes: readonly ClipPlane[];
  readonly background: readonly [number, number, number, number];
  readonly step: number;
  readonly is_jittered: boolean;
  readonly points: readonly PointsLayer[];
  readonly meshes: readonly MeshLayer[];
  readonly slices: readonly SliceLayer[];
  readonly time: number;
  readonly annotations: Annotations;
  readonly measures: readonly Measure[];
  readonly cinematic: Cinematic;
}

/** The scene has this revision. other: the scene beside it, while two are compared.
 * by: the client who changed it, "" for the instance itself or a program; request: of the message that did.
 * Sources in the scene are shortened to their names for guests. */
export interface SceneState {
  readonly revision: number;
  readonly scene: Scene;
  readonly other: Scene | null;
  readonly by: string;
  readonly request: string;
  readonly can_undo: boolean;
  readonly can_redo: boolean;
  readonly arrangement: Arrangement;
  readonly type: "state";
}

/** The camera was moved by another client. The revision does not change. */
export interface CameraMoved {
  readonly camera: Camera;
  readonly by: string;
  readonly type: "camera_moved";
}

/** counts: voxels in equal bins from low to high. */
export interface HistogramData {
  readonly low: number;
  readonly high: number;
  readonly counts: readonly number[];
}

/** A slice across an axis. down, right: the axes along the image's height and width; "-y" is y reversed. */
export interface SlicePlane {
  readonly across: string;
  readonly down: string;
  readonly right: string;
}

/** A volume of the scene, in the order of `scene.volumes`.
 * name: to show. is_memory: an array that was handed over, which a saved state cannot bring back. times, channels: how
 * many the file has; scene.time chooses the time step, the source (`file:c=1`) the channel. histogram: None while
 * the voxels are still being counted. planes: how slices across z, y and x are shown. orientation: where its axes run
 * and where it lies, in words; empty where the file does not state it. compression: what was lost for it, in words.
 * is_projections: these are the projections of a scan, which has to be reconstructed to become a volume.
 * resembles_projections: no file says so, but they look like projections. axis_code: where its x, y and z run, a
 * letter each, such as RAS (right, anterior, superior); empty where the file does not state it. */
export interface LayerDescription {
  readonly name: string;
  readonly shape: readonly [number, number, number];
  readonly spacing: readonly [number, number, number];
  readonly unit: string;
  readonly dtype: string;
  readonly levels: number;
  readonly is_memory: boolean;
  readonly times: number;
  readonly channels: number;
  readonly channel: number;
  readonly histogram: HistogramData | null;
  readonly planes: readonly [SlicePlane, SlicePlane, SlicePlane];
  readonly orientation: string;
  readonly compression: string;
  readonly is_projections: boolean;
  readonly resembles_projections: boolean;
  readonly axis_code: string;
}

/** Points of the scene, in the order of `scene.points`, with the histogram of their values. */
export interface PointsDescription {
  readonly name: string;
  readonly count: number;
  readonly histogram: HistogramData | null;
}

/** A mesh of the scene, in the order of `scene.meshes`. */
export interface MeshDescription {
  readonly name: string;
  readonly triangles: number;
}

/** What is in the scene, described, in its order. revision: of the scene; view: which one, where two are side by
 * side. Where both are new it comes before the scene. */
export interface LayerList {
  readonly layers: readonly LayerDescription[];
  readonly points: readonly PointsDescription[];
  readonly meshes: readonly MeshDescription[];
  readonly revision: number;
  readonly view: View;
  readonly type: "layers";
}

/** A number that the shading lets be chosen: what a slider needs to know. kind: `float` or `int`. */
export interface Parameter {
  readonly name: string;
  readonly default: number;
  readonly low: number;
  readonly high: number;
  readonly kind: string;
}

/** A custom shading. source: empty for guests.
 * is_waiting: it came with a state from elsewhere; it is compiled when the owner agrees, and until then what names it
 * is drawn with `gradient`. */
export interface Shading {
  readonly hash: string;
  readonly source: string;
  readonly parameters: readonly Parameter[];
  readonly is_waiting: boolean;
}

/** The users' shadings there are, those that wait for the owner's consent among them. */
export interface ShadingList {
  readonly shadings: readonly Shading[];
  readonly type: "shadings";
}

/** Something could not be done: what happened, what to do, and what was asked for; revision: what there is now.
 * line: of a shading's source, from 1, else 0. */
export interface ErrorMessage {
  readonly what: string;
  readonly remedy: string;
  readonly revision: number;
  readonly request: string;
  readonly line: number;
  readonly type: "error";
}

/** A connected client. */
export interface Client {
  readonly id: string;
  readonly name: string;
  readonly capability: Capability;
}

/** All clients, the id of the one who has the controls (or None), and those who requested them. */
export interface ControlsStatus {
  readonly clients: readonly Client[];
  readonly holder: string | null;
  readonly asking: readonly string[];
  readonly type: "controls";
}

/** How the process that draws is. lost: it is being replaced; what and do say why. */
export interface WorkerStatus {
  readonly state: WorkerState;
  readonly what: string;
  readonly remedy: string;
  readonly type: "worker";
}

/** Progress of a task. total: None if unknown. unit: "B" for bytes, else a noun in the plural.
 * url: where the result of an export can be fetched, once it is finished. note: what the task waits for. */
export interface Progress {
  readonly task: string;
  readonly name: string;
  readonly done: number;
  readonly total: number | null;
  readonly unit: string;
  readonly state: TaskState;
  readonly seconds_left: number | null;
  readonly url: string;
  readonly note: string;
  readonly type: "progress";
}

/** When the instance ends itself. is_warning: ask whether to prolong. idle_timeout_s: what Prolong gives. */
export interface IdleStatus {
  readonly seconds_left: number;
  readonly idle_timeout_s: number;
  readonly is_warning: boolean;
  readonly type: "idle";
}

/** The instance stops now. Do not reconnect. */
export interface ShuttingDown {
  readonly what: string;
  readonly remedy: string;
  readonly type: "shutting_down";
}

/** What is under a place of the image.
 * position: in the world. layer: index in scene.volumes. value: of the volume there; label: of the label
 * volume, whose index is label_layer; -1 where there is none. */
export interface Hit {
  readonly position: readonly [number, number, number];
  readonly layer: number;
  readonly voxel: readonly [number, number, number];
  readonly value: number | null;
  readonly label: number | null;
  readonly label_layer: number;
}

/** The answer to Probe; hit None: nothing is there. */
export interface ProbeResult {
  readonly request: string;
  readonly hit: Hit | null;
  readonly type: "probe_result";
}

/** Where the slices are cut, whichever client moved them; None: they are not shown. */
export interface CrossHair {
  readonly voxel: readonly [number, number, number] | null;
  readonly layer: number;
  readonly by: string;
  readonly type: "cross_hair";
}

/** What has been set up for a scan. */
export interface ScanDraft {
  readonly scan: string;
  readonly draft: ReconstructionDraft;
}

/** GET /api/tasks/{task}. note: what it waits for. seconds: that it took, without waiting; 0 while it runs. */
export interface TaskStatus {
  readonly task: string;
  readonly state: TaskState;
  readonly done: number;
  readonly total: number | null;
  readonly url: string;
  readonly what: string;
  readonly remedy: string;
  readonly note: string;
  readonly seconds: number;
}

/** A volume that is being made, or was. */
export interface ReconstructionRun {
  readonly scan: string;
  readonly output: string;
  readonly is_watched: boolean;
  readonly status: TaskStatus;
}

/** For owners: what has been set up for scans, what runs or has ended; open: the scan that is in front, or "". */
export interface Reconstructions {
  readonly open: string;
  readonly drafts: readonly ScanDraft[];
  readonly runs: readonly ReconstructionRun[];
  readonly type: "reconstructions";
}

/** A PyTorch model of a user that fills the volume of this source. task: as in Progress. device: as PyTorch names
 * it. batch: points of one call; is_halved: it was made smaller, because memory did not suffice. */
export interface RunningModel {
  readonly task: string;
  readonly source: string;
  readonly name: string;
  readonly device: string;
  readonly batch: number;
  readonly is_halved: boolean;
  readonly is_running: boolean;
}

/** The models whose volumes are in the scene. */
export interface ModelList {
  readonly models: readonly RunningModel[];
  readonly type: "models";
}

/** How far the training of a neural field is, whose preview is the first volume; as in TrainingState. */
export interface ShownTraining {
  readonly name: string;
  readonly step: number;
  readonly psnr: number;
  readonly grids: readonly (readonly (readonly [number, number, number])[])[];
  readonly is_running: boolean;
  readonly type: "training";
}

/** Where the time of a frame went on the instance's side, in milliseconds.
 * input: from the arrival of the message to the start of drawing. encode: this frame's own. */
export interface StageTimes {
  readonly input: number;
  readonly render: number;
  readonly encode: number;
}

/** What an image shows.
 * width, height: of the encoded image, to be stretched over full_width × full_height. is_exact: the renderer's own
 * image, full size and lossless. codec: for h264, what WebCodecs wants; Annex B. is_key: a decoder can begin here.
 * full_resolution: the fraction of what is visible that is drawn from the finest level. input_sent_at_ms: of the Look
 * that it answers, else 0. sent_at_ms: on the instance's clock. is_along_rays: a neural field was evaluated where rays
 * sample it, instead of being decoded to bricks. */
export interface FrameHeader {
  readonly number: number;
  readonly view: View;
  readonly revision: number;
  readonly camera: Camera;
  readonly width: number;
  readonly height: number;
  readonly full_width: number;
  readonly full_height: number;
  readonly encoding: Encoding;
  readonly is_exact: boolean;
  readonly full_resolution: number;
  readonly times_ms: StageTimes;
  readonly input_sent_at_ms: number;
  readonly sent_at_ms: number;
  readonly codec: string;
  readonly is_key: boolean;
  readonly is_along_rays: boolean;
  readonly type: "frame";
}

/** All of a slice, in the world. origin: its top left corner; right, down: along its upper and its left edge.
 * step: from it to the next slice. is_along_voxels: its pixels can be voxels. */
export interface SliceRectangle {
  readonly origin: readonly [number, number, number];
  readonly right: readonly [number, number, number];
  readonly down: readonly [number, number, number];
  readonly step: readonly [number, number, number];
  readonly is_along_voxels: boolean;
}

/** The image of a slice, grey or in colours, with visible labels on top, as its slice_options say.
 * index: which slice; -1 of an oblique one. region: which part of the slice, as fractions from its top left. place:
 * where all of the slice lies in the world. is_exact: lossless, and at the resolution of its pixels or of the voxels;
 * otherwise a better one follows. For z: y downwards, x to the right; for y: z upwards, x right; for x: z upwards, y
 * right; unless planes of the LayerDescription say otherwise. view: of which scene, where two are compared; region is
 * then of the scene's slice, and index and place are those of this one. */
export interface SliceHeader {
  readonly axis: SliceAxis;
  readonly index: number;
  readonly layer: number;
  readonly revision: number;
  readonly number: number;
  readonly width: number;
  readonly height: number;
  readonly region: readonly [number, number, number, number];
  readonly place: SliceRectangle;
  readonly is_exact: boolean;
  readonly encoding: Encoding;
  readonly view: View;
  readonly type: "slice";
}

/** PATCH /api/scene. revision None: whatever it is now. */
export interface SceneChange {
  readonly changes: readonly Change[];
  readonly revision?: number | null;
  readonly view?: View;
}

/** POST /api/load: show a file. replace: alone; add: as another layer; labels: over the first volume. */
export interface LoadRequest {
  readonly path: string;
  readonly how?: "replace" | "add" | "labels";
}

/** POST /api/sample: show a small volume to try things with. replace: alone; add: as another layer. */
export interface SampleRequest {
  readonly how: "replace" | "add";
}

/** POST /api/arrays: an array is coming, in C order and in the byte order of dtype. */
export interface ArrayOffer {
  readonly shape: readonly [number, number, number];
  readonly dtype: string;
  readonly spacing?: readonly [number, number, number];
  readonly unit?: string;
  readonly name?: string;
  readonly how?: "replace" | "add" | "labels";
}

/** POST /api/shadings: compile this. */
export interface ShadingText {
  readonly source: string;
}

/** POST /api/presets/parse: the JSON that ParaView exports. */
export interface PresetText {
  readonly text: string;
}

/** POST /api/profile: values of a layer along a line between two places in the world. */
export interface ProfileRequest {
  readonly start: readonly [number, number, number];
  readonly stop: readonly [number, number, number];
  readonly layer?: number;
  readonly count?: number;
}

/** POST /api/exports: the clipped region of a layer as a file. start, stop: a box of voxels instead of the clip. */
export interface ExportRequest {
  readonly format?: ExportFormat;
  readonly layer?: number;
  readonly start?: readonly [number, number, number] | null;
  readonly stop?: readonly [number, number, number] | null;
}

/** POST /api/session: a page asks for a session. address: of the page, as it sees itself. One of these: code, from a
 * link that works once; share, from a share link; resume, the token of this page before it was loaded again. */
export interface SessionRequest {
  readonly address?: string;
  readonly code?: string;
  readonly share?: string;
  readonly resume?: string;
}

/** POST /api/prove: the server is to prove that it holds the key of a session; or a secret, which is named by its
 * SHA-256; or a code, which is named by all of it but its last part. */
export interface ProofRequest {
  readonly nonce: string;
  readonly session?: string;
  readonly address?: string;
  readonly secret_hash?: string;
  readonly code?: string;
}

/** POST /api/tickets. path: what is to be downloaded, with its query, relative to the page. */
export interface TicketRequest {
  readonly path: string;
}

/** POST /api/shares: a link to give away. name: for the list. */
export interface NewShare {
  readonly capability: Capability;
  readonly name?: string;
}

/** POST /api/regions: the voxels of a layer in a box, between opposite corners along its axes, or in a sphere, given
 * by its centre and a point on it; all in the world. */
export interface RegionRequest {
  readonly kind: "box" | "sphere";
  readonly points: readonly [readonly [number, number, number], readonly [number, number, number]];
  readonly layer?: number;
}

/** POST /api/paint: give a label to the voxels that a brush touches; 0 erases.
 * points: voxels (z, y, x) that it is drawn through. radius: in voxels, along the axis with the finest spacing. axis:
 * a disc in the slice across it; None: a ball. only: voxels with this label alone. gesture: names one, of which
 * all requests are one step of undo; is_moving: more of them will follow. */
export interface PaintRequest {
  readonly layer: number;
  readonly label: number;
  readonly points: readonly (readonly [number, number, number])[];
  readonly radius?: number;
  readonly axis?: Axis | null;
  readonly only?: number | null;
  readonly gesture?: string;
  readonly is_moving?: boolean;
}

/** POST /api/labels/save: the labels of a layer as a new Zarr or HDF5 file. */
export interface SaveLabelsRequest {
  readonly layer: number;
  readonly path: string;
}

/** POST /api/models: draw a PyTorch model that maps points in [-1, 1]³ to values. It is run by a process of its own.
 * path: a Python file or an exported program (.pt2), below the roots or uploaded. name: of a class or a function in a
 * Python file. shape: voxels (z, y, x) to evaluate; by default those that the model states, or 256 along each axis.
 * batch: points of one call; None for what suits the device. */
export interface ModelRequest {
  readonly path: string;
  readonly name?: string;
  readonly shape?: readonly [number, number, number] | null;
  readonly spacing?: readonly [number, number, number];
  readonly batch?: number | null;
  readonly how?: "replace" | "add";
}

/** PATCH /api/models/{task}: how many points are evaluated in one call from now on. */
export interface ModelBatch {
  readonly batch: number;
}

/** What a movie shows at `at_s` seconds. time: of the scene; transfer and clip: of its first volume; planes: that
 * cut everything; None for no change. Without clipping, clip is the box of the whole volume. */
export interface KeyFrame {
  readonly at_s: number;
  readonly camera: Camera;
  readonly time: number | null;
  readonly transfer: TransferFunction | null;
  readonly clip: Box | null;
  readonly planes: readonly ClipPlane[] | null;
}

/** Key frames in the order of their seconds; the camera passes exactly through each of them, and moves smoothly.
 * The target, the direction and the distance of the camera are interpolated, so that it moves around its target. No
 * coordinate goes beyond the key frames on either side, so that a camera at rest stays at rest. */
export interface CameraPath {
  readonly keys: readonly KeyFrame[];
}

/** POST /api/movies: through the key frames of a path, as an MP4; without one, once around the target, about the
 * camera's up, in so many seconds. */
export interface MovieRequest {
  readonly width?: number;
  readonly height?: number;
  readonly seconds?: number;
  readonly frames_per_second?: number;
  readonly path?: CameraPath | null;
}

/** POST /api/movies/moments: what a movie shows, image by image. */
export interface MomentsRequest {
  readonly path: CameraPath;
  readonly frames_per_second?: number;
}

/** POST /api/movies/path: the text of a file with key frames, to be read. */
export interface MoviePathText {
  readonly text: string;
}

/** POST /api/networks: draw the labels that a network gives to the voxels of a layer, as they are computed.
 * path: an ONNX file or bioimageio.yaml, below the roots or uploaded. layer: index in scene.volumes. threshold: of a
 * network with one output, above which a voxel has label 1. The rest is what a bare ONNX file does not state: axes,
 * one letter each (b, c, z, y, x); halo, in voxels (z, y, x); transforms before and after, such as `sigmoid`. */
export interface NetworkRequest {
  readonly path: string;
  readonly layer?: number;
  readonly threshold?: number | null;
  readonly axes?: string | null;
  readonly halo?: readonly [number, number, number] | null;
  readonly preprocess?: readonly string[];
  readonly postprocess?: readonly string[];
}

/** Voxels of the volume from start to before stop, (z, y, x). */
export interface DenoisingRegion {
  readonly name: RegionName;
  readonly start: readonly [number, number, number];
  readonly stop: readonly [number, number, number];
}

/** POST /api/denoisings: reconstruct a scan, train a network on it, and write the volume without noise. steps: of
 * the training; null for those of the preset. regions: none or one of each name. */
export interface DenoisingRequest {
  readonly path: string;
  readonly output: string;
  readonly recipe: Recipe;
  readonly options?: ScanOptions;
  readonly preset?: DenoisingPreset;
  readonly steps?: number | null;
  readonly regions?: readonly DenoisingRegion[];
  readonly is_replaced?: boolean;
}

/** POST /api/scans/describe: a scan, and what is said of it where its files do not. */
export interface ScanRequest {
  readonly path: string;
  readonly options?: ScanOptions;
}

/** POST /api/scans/axis: where the axis is, in the way that the recipe's center names. It may take seconds. */
export interface AxisRequest {
  readonly path: string;
  readonly recipe: Recipe;
  readonly options?: ScanOptions;
}

/** POST /api/scans/preview: an image of a scan with a recipe. A new request for the same view cancels the old one.
 * index: the view of a projection, the row of the others. edge: pixels of its longest side, at most. window: the
 * values that are black and white; without it they are chosen. is_moving: something is held, soon beats exact.
 * is_deep: an image at rest comes as grey16. client: the sender; clients do not cancel each other's requests. number:
 * counts what it has asked, for requests may overtake each other. */
export interface PreviewRequest {
  readonly path: string;
  readonly place: PreviewPosition;
  readonly index: number;
  readonly recipe: Recipe;
  readonly options?: ScanOptions;
  readonly edge?: number;
  readonly window?: readonly [number, number] | null;
  readonly is_moving?: boolean;
  readonly is_deep?: boolean;
  readonly client?: string;
  readonly number?: number;
}

/** POST /api/reconstructions: make the volume; POST /api/reconstructions/command: say it for a terminal.
 * is_watched: slices are shown as they are made, in the place of what is shown now. rows, crop: the part that is made,
 * as in OutputOptions; all of it without them. */
export interface ReconstructionRequest {
  readonly path: string;
  readonly output: string;
  readonly recipe: Recipe;
  readonly options?: ScanOptions;
  readonly is_replaced?: boolean;
  readonly is_watched?: boolean;
  readonly rows?: readonly [number, number] | null;
  readonly crop?: readonly [readonly [number, number], readonly [number, number]] | null;
}

/** POST /api/slices/window: the grey window of a slice.
 * oblique: the first of the scene's `slices`, which has no index and its own layer. index: of any other slice.
 * percents: of its voxels, below the window and below its upper end; 0 and 100: from the lowest to the highest value. */
export interface SliceWindowRequest {
  readonly axis: SliceAxis;
  readonly index?: number | null;
  readonly layer?: number;
  readonly percents?: readonly [number, number];
}

/** PUT /api/training: how far the training of a neural field is, whose preview is the first volume of the scene.
 * psnr: in dB. grids: eight corners (x, y, z) of each of its feature grids, with x in the lowest bit of their number;
 * -1 and 1 are the ends of the volume. */
export interface TrainingState {
  readonly name: string;
  readonly step: number;
  readonly psnr: number;
  readonly grids?: readonly (readonly (readonly [number, number, number])[])[];
}

/** PUT /api/compare: whether the scene as it is now stays beside the one that changes. */
export interface Comparison {
  readonly is_on: boolean;
  readonly arrangement?: Arrangement;
}

/** PUT /api/camera. */
export interface CameraChange {
  readonly camera: Camera;
}

/** POST /api/camera/fit: a camera that sees all that is shown. aspect: width of the image over its height; None: of
 * the image of the page that has the controls. is_from_here: from the side where the camera is now, instead of that
 * of the first view. */
export interface FitRequest {
  readonly aspect?: number | null;
  readonly is_from_here?: boolean;
}

/** PUT /api/presets: the look of a volume: a built-in preset (colours, opacities, shading), or a colour map. */
export interface PresetRequest {
  readonly name: string;
  readonly layer?: number;
}

/** POST /api/probe: what is at a position of the world? The reply is a Hit. */
export interface PositionRequest {
  readonly position: readonly [number, number, number];
}

/** POST /api/figures: the exact image as a file for a paper. dpi: pixels per inch on paper; annotations: instead of
 * the scene's; has_scene: whether the file also has the scene, with the names of its files, which only an owner may
 * ask for; key: a key frame of a movie, drawn instead of what is shown now. */
export interface FigureRequest {
  readonly width?: number;
  readonly height?: number;
  readonly format?: "png" | "tiff";
  readonly dpi?: number | null;
  readonly is_transparent?: boolean;
  readonly annotations?: Annotations | null;
  readonly has_scene?: boolean;
  readonly key?: KeyFrame | null;
}

/** What happened and what to do; line: of a shading's source, else 0; kind: the error's class in Python. */
export interface ErrorBody {
  readonly what: string;
  readonly remedy: string;
  readonly line: number;
  readonly kind: string;
}

/** GET /api/about. For the owner: socket, where memory changes hands on this machine; transfer, the address of the
 * transport, which takes arrays from any machine that can reach it; transfer_token, which both of them ask for. */
export interface About {
  readonly version: number;
  readonly product: string;
  readonly capability: Capability;
  readonly device: string;
  readonly pid: number;
  readonly socket: string;
  readonly transfer: string;
  readonly transfer_token: string;
}

/** GET /api/scene: everything a program has to know about what is shown. */
export interface SceneSnapshot {
  readonly version: number;
  readonly revision: number;
  readonly scene: Scene;
  readonly other: Scene | null;
  readonly layers: readonly LayerDescription[];
  readonly points: readonly PointsDescription[];
  readonly meshes: readonly MeshDescription[];
  readonly device: string;
  readonly choices: Choices;
}

/** What a change of the scene led to. */
export interface Revision {
  readonly revision: number;
}

/** GET and PUT /api/state: all that is needed to show the same image again, as one JSON document.
 * scene, other: as Scene.to_json writes them. shadings: sources by hash. */
export interface SavedState {
  readonly version: number;
  readonly scene: Json;
  readonly other: Json;
  readonly shadings: { readonly [name: string]: string };
  readonly cross_hair: readonly [number, number, number] | null;
}

/** POST /api/links: the state saved under a short name; `pellucid view --state NAME` shows it again too. url:
 * relative to the page's address; it has the capability control, and opens this state. */
export interface SavedLink {
  readonly name: string;
  readonly url: string;
}

/** One line of a folder. path: to be given back to open it. bytes: of a file. */
export interface Entry {
  readonly name: string;
  readonly path: string;
  readonly kind: EntryKind;
  readonly bytes: number | null;
  readonly modified_at_ms: number;
}

/** GET /api/files?folder=&search=: what is in a folder that can be opened; without one, the roots.
 * parent: None at a root. search looks through the folders below too; is_cut: there was more. is_scan: its files are
 * the projections of a scan. is_stack: its files are the slices of a volume, which its path opens. */
export interface Folder {
  readonly path: string;
  readonly parent: string | null;
  readonly entries: readonly Entry[];
  readonly is_cut: boolean;
  readonly is_scan: boolean;
  readonly is_stack: boolean;
}

/** GET /api/files/info?path=: what a file holds, without reading its voxels.
 * datasets: names to choose from (give path:/name), where it holds several. problem: why it cannot be opened, or "".
 * is_scan: it has to be reconstructed first; shape is (view, row, column) of its projections, datasets their name, if
 * they have one. may_be_scan: it could be one, if a user chooses its datasets. is_headerless: its name alone may say
 * what its shape and type are; else they have to be given, as path:shape=Z,Y,X,dtype=uint16,order=le,offset=0. */
export interface FileFacts {
  readonly path: string;
  readonly shape: readonly [number, number, number] | null;
  readonly spacing: readonly [number, number, number] | null;
  readonly unit: string;
  readonly dtype: string;
  readonly levels: number;
  readonly times: number;
  readonly channels: number;
  readonly bytes: number;
  readonly datasets: readonly string[];
  readonly problem: string;
  readonly is_scan: boolean;
  readonly may_be_scan: boolean;
  readonly is_headerless: boolean;
}

/** warning, remedy: what may be wrong with what is shown now, and what to do; "" if nothing is. */
export interface Loaded {
  readonly revision: number;
  readonly warning: string;
  readonly remedy: string;
}

/** path: to be given to /api/load. thumbnail: an image as a data URL, or "". */
export interface RecentFile {
  readonly path: string;
  readonly name: string;
  readonly folder: string;
  readonly opened_at_ms: number;
  readonly thumbnail: string;
}

/** GET /api/recent: the files that the user opened last, the latest first. folder: the one browsed last, or "". */
export interface RecentFiles {
  readonly files: readonly RecentFile[];
  readonly folder: string;
}

/** PUT /api/upload?name=: where the bytes of the body are now; give it to /api/load. */
export interface Uploaded {
  readonly path: string;
}

/** The answer: PUT /api/arrays/{id}?offset=N takes its bytes, POST /api/arrays/{id}/show shows it. */
export interface ArrayUpload {
  readonly id: string;
  readonly bytes: number;
}

/** A shading that a layer can name now. A refusal of its source carries the line. */
export interface CompiledShading {
  readonly hash: string;
  readonly parameters: readonly Parameter[];
}

/** The transfer function that it means. */
export interface PresetTransfer {
  readonly transfer: TransferFunction;
}

/** values: None outside the volume. length: in world units, which have the unit of the layer. */
export interface ProfileValues {
  readonly values: readonly (number | null)[];
  readonly length: number;
}

/** Progress messages report how far it is, and where the result is; so does GET /api/tasks/{task}. */
export interface TaskStarted {
  readonly task: string;
}

/** Milliseconds over the last frames: half are faster than median, 95 % faster than p95. */
export interface StageSummary {
  readonly median: number;
  readonly p95: number;
}

/** GET /api/statistics. stages: input, render, encode, wire, decode, paint. */
export interface StatisticsNow {
  readonly frames: number;
  readonly frames_per_second: number;
  readonly dropped: number;
  readonly clients: number;
  readonly worker_restarts: number;
  readonly seconds_idle: number;
  readonly stages: { readonly [name: string]: StageSummary };
}

/** A page's session. key: for proofs; it stays in the page's memory and is never sent again. token: for requests, in
 * the header Pellucid-Session. state: the saved state that the link is for. */
export interface PageAccess {
  readonly session: string;
  readonly key: string;
  readonly token: string;
  readonly capability: Capability;
  readonly state: string;
}

/** The keyed hash, as on the WebSocket, but of "http", the nonce and the page's address; by a secret or a code, of
 * "program" and the nonce. */
export interface ServerProof {
  readonly proof: string;
}

/** POST /api/codes: a code that opens the viewer once, as its owner, behind `#code=`. */
export interface NewCode {
  readonly code: string;
}

/** url: the same path, for one minute, without any header. */
export interface Ticket {
  readonly url: string;
}

/** A share link, until it is revoked. url: behind the page's address. state: the saved state that it opens. */
export interface Share {
  readonly id: string;
  readonly name: string;
  readonly capability: Capability;
  readonly url: string;
  readonly state: string;
}

/** One label. voxels: how many have it. volume: in cubic world units. center: of its voxels, in the world. start,
 * stop: the smallest box of voxels that holds it, (z, y, x). */
export interface LabelRow {
  readonly label: number;
  readonly name: string;
  readonly voxels: number;
  readonly volume: number;
  readonly center: readonly [number, number, number];
  readonly start: readonly [number, number, number];
  readonly stop: readonly [number, number, number];
}

/** GET /api/labels?layer=: every label of a layer, in ascending order, label 0 left out. unit: of lengths. */
export interface LabelList {
  readonly layer: number;
  readonly unit: string;
  readonly rows: readonly LabelRow[];
}

/** What a measure is by itself, in world units; None where that means nothing. */
export interface MeasureSize {
  readonly length: number | null;
  readonly angle_deg: number | null;
  readonly area: number | null;
  readonly volume: number | null;
}

/** The voxels of a layer whose centres lie in a box or a sphere. voxels: how many have a value; volume: in cubic
 * world units. mean to high: None where there is none. counts: voxels in equal bins from low to high; of
 * whole numbers, as many in each bin. */
export interface RegionValues {
  readonly voxels: number;
  readonly volume: number;
  readonly mean: number | null;
  readonly sigma: number | null;
  readonly low: number | null;
  readonly high: number | null;
  readonly counts: readonly number[];
}

/** A measure, its size, and for a box or a sphere the values in it. */
export interface MeasureRow {
  readonly measure: Measure;
  readonly size: MeasureSize;
  readonly region: RegionValues | null;
}

/** GET /api/measures: every measure of the scene, in its order. unit: of lengths. */
export interface MeasureList {
  readonly unit: string;
  readonly rows: readonly MeasureRow[];
}

/** Where the labels are now. */
export interface SavedLabels {
  readonly path: string;
}

/** task: as in /api/tasks. layer: index in scene.volumes. */
export interface ModelStarted {
  readonly task: string;
  readonly layer: number;
  readonly revision: number;
}

/** From the first image to the last. After the first one, None is for what is as it was in the image before. */
export interface MovieMoments {
  readonly moments: readonly KeyFrame[];
}

/** Key frames with all that they leave to defaults; with version, a file for `pellucid render --path`. */
export interface MoviePath {
  readonly keys: readonly KeyFrame[];
  readonly version: number;
}

/** task: as in /api/tasks. layer: index of the labels in scene.volumes. */
export interface NetworkStarted {
  readonly task: string;
  readonly layer: number;
  readonly revision: number;
}

/** Mean squared difference from slices of views that the network has not seen, and that of the slices before it. */
export interface ValidationPoint {
  readonly step: number;
  readonly error: number;
  readonly error_before: number;
}

/** GET /api/denoisings?scan=: the last denoising of a scan.
 * stage: what the command does now. steps: how many there will be; step: how many were done. losses: one for every
 * `every` steps. is_training: the training can be ended now, and its network kept. images: a number that changes
 * with the images before and after; 0 while there are none. sentences: what was measured, at the end. */
export interface DenoisingStatus {
  readonly scan: string;
  readonly output: string;
  readonly status: TaskStatus;
  readonly stage: string;
  readonly step: number;
  readonly steps: number;
  readonly every: number;
  readonly losses: readonly number[];
  readonly validations: readonly ValidationPoint[];
  readonly is_training: boolean;
  readonly images: number;
  readonly sentences: readonly string[];
}

/** What there is to choose from. */
export interface ReconstructionChoices {
  readonly filters: readonly string[];
  readonly rings: readonly string[];
  readonly methods: readonly string[];
  readonly paddings: readonly string[];
}

/** A scan, and what to begin with. recipe: settings. output: a place for the volume. */
export interface ScanDescription {
  readonly name: string;
  readonly kind: string;
  readonly projections: number;
  readonly rows: number;
  readonly columns: number;
  readonly dtype: string;
  readonly flats: number;
  readonly darks: number;
  readonly first_angle_deg: number;
  readonly last_angle_deg: number;
  readonly is_full_turn: boolean;
  readonly pixel_size_um: number | null;
  readonly assumptions: readonly string[];
  readonly recipe: Recipe;
  readonly output: string;
  readonly choices: ReconstructionChoices;
}

/** Numbers in a file: its name, from the root on, and its shape. In a folder: a pattern of names of files below it,
 * or the path of a file with a list. */
export interface Dataset {
  readonly name: string;
  readonly shape: readonly number[];
}

/** is_recognised: the file says itself what is what. frames: what could be projections, flats or darks. lists: what
 * could be angles, in the file and in text files beside it. options: what they probably are; empty where nothing
 * fits. */
export interface Suggestion {
  readonly is_recognised: boolean;
  readonly frames: readonly Dataset[];
  readonly lists: readonly Dataset[];
  readonly options: ScanOptions;
}

/** center: its column in the middle row. slope: columns that it moves by from one row to the next. */
export interface AxisResult {
  readonly center: number;
  readonly slope: number;
}

/** Before the image: low and high are black and white, center and slope as in AxisResult, radius_px
 * how far phase retrieval smooths. edge: of a slice, in pixels of the detector. voxels: of the volume along an edge,
 * that became one pixel, because all of them would take long; views: one of so many was used; iterations: so many were
 * made. encoding: grey16 is 16 bits (little endian) for every pixel, from code_low (0) to code_high (65535). */
export interface PreviewHeader {
  readonly place: PreviewPosition;
  readonly index: number;
  readonly encoding: PreviewEncoding;
  readonly width: number;
  readonly height: number;
  readonly low: number;
  readonly high: number;
  readonly unit: string;
  readonly center: number | null;
  readonly slope: number | null;
  readonly radius_px: number | null;
  readonly edge: number;
  readonly voxels: number;
  readonly views: number;
  readonly iterations: number;
  readonly code_low: number;
  readonly code_high: number;
}

/** The line that does the same in a terminal. */
export interface ReconstructionCommand {
  readonly text: string;
}

/** The values that become black and white. */
export interface SliceWindow {
  readonly low: number;
  readonly high: number;
}

/** PUT /api/camera looks through it. */
export interface FittedCamera {
  readonly camera: Camera;
}

export type Incoming =
  | Prove
  | Hello
  | Resize
  | SetCamera
  | Patch
  | Undo
  | Redo
  | Compare
  | Arrange
  | Slices
  | ShowSlices
  | Probe
  | ProbeSlice
  | Acknowledge
  | AcknowledgeSlice
  | RequestKeyFrame
  | RequestControls
  | HandOverControls
  | KeepAlive
  | CancelTask
  | SaveDraft;

export type Outgoing =
  | Proof
  | Moved
  | Welcome
  | SceneState
  | CameraMoved
  | LayerList
  | ShadingList
  | ErrorMessage
  | ControlsStatus
  | WorkerStatus
  | Progress
  | IdleStatus
  | ShuttingDown
  | ProbeResult
  | CrossHair
  | Reconstructions
  | ModelList
  | ShownTraining;

export type Header =
  | FrameHeader
  | SliceHeader;
